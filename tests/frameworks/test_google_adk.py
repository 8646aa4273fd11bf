"""Google ADK: an agent in its own runner with a scripted model, and tools called in code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("google.adk")

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.agents.run_config import RunConfig, StreamingMode  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_request import LlmRequest  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools.agent_tool import AgentTool  # noqa: E402
from google.adk.tools.base_tool import BaseTool  # noqa: E402
from google.adk.tools.base_toolset import BaseToolset  # noqa: E402
from google.adk.tools.function_tool import FunctionTool  # noqa: E402
from google.adk.tools.tool_context import ToolContext  # noqa: E402
from google.genai import types  # noqa: E402


class _Model(BaseLlm):
    """A model that asks for the tool calls of each turn."""

    turns: list[Any] = []
    told: list[str] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for part in llm_request.contents[-1].parts or []:
            answer = part.function_response
            if answer is not None:
                self.told.append(f"{answer.id} {answer.name} {answer.response!r}")
        turn = self.turns.pop(0) if self.turns else None
        if stream and turn is None:
            part = types.Part(text="do")
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        parts = [types.Part(text="done")] if turn is None else [_ask(ask) for ask in turn]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _ask(ask: Ask) -> types.Part:
    call = types.FunctionCall(name=ask.name, args=ask.arguments, id=ask.call_id)
    return types.Part(function_call=call)


class Limited(BaseTool):
    """A tool of a class."""

    def __init__(self, limit: int = 5) -> None:
        super().__init__(name="limited", description="Return a number within the limit.")
        self.limit = limit

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return min(args["n"], self.limit)


class Box(BaseToolset):
    """Tools under a prefix: the framework copies each one."""

    def __init__(self, made: Sequence[BaseTool]) -> None:
        super().__init__(tool_name_prefix="shop")
        self.made = list(made)

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return self.made

    async def close(self) -> None:
        """Hold nothing that would need it."""


async def _in_code(tool: Any, arguments: dict[str, Any]) -> Any:
    class Context:
        """As much of a context as a function tool asks of it."""

        function_call_id = "in-code"
        tool_confirmation = None

    return await tool.run_async(args=arguments, tool_context=Context())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
class TestGoogleAdk(Contract):
    framework = "google-adk"
    refuses_arguments = False
    handles_errors = False

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return FunctionTool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        agent = LlmAgent(name="helper", model=_Model(model="scripted"), tools=list(made))
        return await self.run(agent, turns)

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        agent = LlmAgent(name="helper", model=_Model(model="scripted"), tools=list(made))
        return asyncio.run(self.run(agent, turns, run_config=RunConfig(streaming_mode=StreamingMode.SSE)))

    async def run(self, agent: Any, turns: Sequence[Turn], **options: Any) -> Transcript:
        """Run one agent; what it told the user last stands in the end."""
        model = agent.model
        model.turns, model.told = list(turns), []
        runner = InMemoryRunner(agent=agent, app_name="shop")
        await runner.session_service.create_session(app_name="shop", user_id="u", session_id="s")
        said = []
        try:
            message = types.Content(role="user", parts=[types.Part(text="go")])
            async for event in runner.run_async(user_id="u", session_id="s", new_message=message, **options):
                said = [part.text for part in (event.content and event.content.parts) or () if part.text]
        except Exception as error:
            said = [f"{type(error).__name__} {error}"]
        return [*model.told, *said]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return LlmAgent(name="helper", model=_Model(model="scripted", turns=list(turns)), tools=list(made))

    def talk(self, agent: Any) -> str:
        return asyncio.run(self.run(agent, agent.model.turns))[-1]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        """Call it in a loop of its own thread: the framework runs a sync tool in the agent's loop."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(_in_code(tool, arguments))).result()

    def describe(self, tool: Any) -> Any:
        return tool._get_declaration()

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_a_tool_that_calls_another_tool_is_its_parent(self) -> None:
        """The inner call is a child in the same trace."""
        inner = self.make_tool(tools.add)

        async def outer(a: int) -> int:
            """Call another tool."""
            return await _in_code(inner, {"a": a}) + 100

        records = self.both([outer], [[Ask("outer", {"a": 5})]])
        child, parent = only(records, tool_name="add"), only(records, tool_name="outer")
        assert len(records) == 2
        assert (child["parent_id"], child["depth"]) == (parent["span_id"], 1)
        assert (child["tool_call_id"], parent["output"]) == ("in-code", 107)

    def test_missing_arguments_leave_a_rejected_record(self) -> None:
        """The framework tells the model what is missing, and does not call the function."""
        (record,) = self.both([tools.add], [[Ask("add", {"b": 1}, "c4")]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["input"], record["tool_call_id"], record["phase"]) == ({"b": 1}, "c4", "validation")
        assert "mandatory input parameters" in record["error"]["message"]

    def test_a_tool_that_answers_with_an_error_of_its_own_has_not_been_refused(self) -> None:
        """What a function returns is its result, whatever it says."""

        def look_up(city: str) -> dict[str, str]:
            """Look a city up."""
            return {"error": f"no city {city}"}

        (record,) = self.both([look_up], [[Ask("look_up", {"city": "Ys"})]])
        assert (record["status"], record["output"]) == ("success", {"error": "no city Ys"})

    def test_the_tool_context_is_not_input(self) -> None:
        """The framework fills it in beside the model's arguments."""

        def place(item: str, tool_context: ToolContext) -> str:
            """Order something."""
            return f"{item} {tool_context.function_call_id}"

        (record,) = self.both([place], [[Ask("place", {"item": "tea"}, "c7")]])
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea c7")

    def test_a_call_that_somebody_has_to_approve_is_told_as_rejected(self) -> None:
        """Its function did not run; the record says what the model was told, and why."""
        made = [FunctionTool(tools.add, require_confirmation=True)]
        with self.watched() as records:
            self.run_agent(made, [[Ask("add", {"a": 1}, "c8")]])
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")
        assert (record["input"]["a"], record["tool_call_id"]) == (1, "c8")
        assert "requires confirmation" in record["error"]["message"]

    def test_what_decides_on_approval_is_no_call(self) -> None:
        """A function that is asked whether somebody has to approve is not the tool's."""

        def is_much(a: int, b: int = 2) -> bool:
            return a > 100

        made = [FunctionTool(tools.add, require_confirmation=is_much)]
        with self.watched() as records:
            self.run_agent(made, [[Ask("add", {"a": 1})]])
        (record,) = calls(records)
        assert (record["tool_name"], record["status"], record["output"]) == ("add", "success", 3)

    def test_a_copy_under_a_prefix_has_the_name_that_the_model_knows(self) -> None:
        """The framework copies the tools of a toolset; also one that was pointed at."""
        made = self.make_tool(tools.add)
        with self.watched(made) as records:
            self.run_agent([Box([made, self.make_tool(tools.slow_add)])], [
                [Ask("shop_add", {"a": 1}, "c1"), Ask("shop_slow_add", {"a": 1}, "c2")]
            ])  # fmt: skip
        (record,) = calls(records)
        assert (record["tool_name"], record["output"]) == ("shop_add", 3)

    def test_an_agent_can_be_pointed_at(self) -> None:
        """Its tools are recorded, and those of other agents are not."""
        one, other = (
            LlmAgent(name=function.__name__, model=_Model(model="scripted"), tools=[function])
            for function in (tools.add, tools.slow_add)
        )
        with self.watched(one) as records:
            asyncio.run(self.run(one, [[Ask("add", {"a": 1})]]))
            asyncio.run(self.run(other, [[Ask("slow_add", {"a": 2})]]))
        assert [record["input"]["a"] for record in calls(records)] == [1]

    def test_the_tools_of_an_agent_that_is_a_tool_are_children(self) -> None:
        """They run in a session and a task of their own, in the same trace."""
        inner_model = _Model(model="scripted", turns=[[Ask("add", {"a": 1}, "in")]])
        inner = LlmAgent(name="adder", description="Adds.", model=inner_model, tools=[tools.add])
        with self.watched() as records:
            self.run_agent([AgentTool(inner)], [[Ask("adder", {"request": "add"}, "out")]])
        child, parent = only(calls(records), tool_name="add"), only(calls(records), tool_name="adder")
        assert (child["parent_id"], child["tool_call_id"]) == (parent["span_id"], "in")
        assert (parent["tool_call_id"], parent["output"]) == ("out", "done")

    def test_what_callbacks_make_of_a_result_is_not_the_tools(self) -> None:
        """The record has the function's own; the model is told the other."""

        def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, Any]:
            return {"masked": True}

        model = _Model(model="scripted")
        agent = LlmAgent(name="one", model=model, tools=[tools.add], after_tool_callback=after)
        with self.watched() as records:
            asyncio.run(self.run(agent, [[Ask("add", {"a": 1})]]))
        assert "masked" in model.told[0]
        assert [record["output"] for record in calls(records)] == [3]

    def test_an_exception_that_a_callback_answers_is_the_tools_own_all_the_same(self) -> None:
        """The run goes on with the callback's answer."""

        def sorry(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
            return {"sorry": str(error)}

        model = _Model(model="scripted")
        agent = LlmAgent(name="one", model=model, tools=[tools.fail], on_tool_error_callback=sorry)
        with self.watched() as records:
            said = asyncio.run(self.run(agent, [[Ask("fail", {"city": "Ys"})]]))
        assert said[-1] == "done"
        (record,) = calls(records)
        assert record["error"]["message"] == "no city Ys"

    def test_a_stream_of_a_tool_is_recorded_with_its_items(self) -> None:
        """A live run reads what an async generator gives, one by one."""

        async def ticks(n: int) -> AsyncIterator[int]:
            """Give numbers one by one."""
            for number in range(n):
                yield number

        async def main() -> list[int]:
            tool: Any = self.make_tool(ticks)
            live = getattr(tool, "_call_live", None)
            if live is None:
                return [item async for item in await _in_code(tool, {"n": 3})]

            class Context:
                function_call_id = "in-code"

            class Invocation:
                active_streaming_tools: dict[str, Any] = {}

            stream = live(args={"n": 3}, tool_context=Context(), invocation_context=Invocation())
            return [item async for item in stream]

        with self.watched() as records:
            assert asyncio.run(main()) == [0, 1, 2]
        (record,) = calls(records)
        assert (record["tool_name"], record["output"]) == ("ticks", [0, 1, 2])
        assert (record["input"], record["tool_call_id"]) == ({"n": 3}, "in-code")
