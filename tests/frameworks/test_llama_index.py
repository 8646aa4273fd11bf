"""LlamaIndex: a FunctionAgent with a scripted function-calling model, and tools called in code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent  # noqa: E402
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole  # noqa: E402
from llama_index.core.llms.function_calling import FunctionCallingLLM  # noqa: E402
from llama_index.core.llms.llm import ToolSelection  # noqa: E402
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput  # noqa: E402
from llama_index.core.tools.calling import call_tool  # noqa: E402
from llama_index.core.tools.types import AsyncBaseTool  # noqa: E402
from llama_index.core.workflow import Context  # noqa: E402


def _unused(*_: Any, **options: Any) -> Any:
    raise NotImplementedError


class _Model(FunctionCallingLLM):
    """A model that asks for the tool calls of each turn."""

    turns: list[Any] = []
    told: list[str] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def _answer(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self.told += [
            f"{one.additional_kwargs.get('tool_call_id')} {one.content}"
            for one in messages
            if one.role == MessageRole.TOOL
        ]
        turn = self.turns.pop(0) if self.turns else None
        text = "done" if turn is None else ""
        message = ChatMessage(
            role=MessageRole.ASSISTANT, content=text, additional_kwargs={"asks": turn or []}
        )
        return ChatResponse(message=message, delta=text)

    async def astream_chat_with_tools(self, tools: Any, **options: Any) -> Any:
        answer = self._answer(options["chat_history"])

        async def stream() -> Any:
            yield answer

        return stream()

    async def achat_with_tools(self, tools: Any, **options: Any) -> ChatResponse:
        return self._answer(options["chat_history"])

    def get_tool_calls_from_response(self, response: Any, **options: Any) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=ask.call_id, tool_name=ask.name, tool_kwargs=ask.arguments)
            for ask in response.message.additional_kwargs["asks"]
        ]

    def _prepare_chat_with_tools(self, *_: Any, **options: Any) -> Any:
        return {}

    chat = achat = complete = acomplete = stream_chat = astream_chat = _unused
    stream_complete = astream_complete = _unused


class Limited(AsyncBaseTool):
    """A tool of a class."""

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata(name="limited", description="Return a number within the limit.")

    def call(self, n: int) -> ToolOutput:
        found = min(n, self.limit)
        return ToolOutput(content=str(found), tool_name="limited", raw_input={"n": n}, raw_output=found)

    async def acall(self, n: int) -> ToolOutput:
        return self.call(n)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestLlamaIndex(Contract):
    framework = "llama-index"
    refuses_arguments = False

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return FunctionTool.from_defaults(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns=list(turns), told=[])
        agent = FunctionAgent(tools=list(made), llm=model, streaming=False)
        answer = await agent.run(user_msg="go")
        return [*sorted(model.told), str(answer)]  # told as they come, so in any order

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def stream() -> Transcript:
            model = _Model(turns=list(turns), told=[])
            agent = FunctionAgent(tools=list(made), llm=model, streaming=True)
            run = agent.run(user_msg="go")
            kinds = [type(event).__name__ async for event in run.stream_events()]
            return [*sorted(kinds), *sorted(model.told), str(await run)]

        return asyncio.run(stream())

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return FunctionAgent(tools=list(made), llm=_Model(turns=list(turns), told=[]), streaming=False)

    def talk(self, agent: Any) -> str:
        return asyncio.run(self._ask(agent))

    async def _ask(self, agent: Any) -> str:
        return str(await agent.run(user_msg="go"))

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.call(**arguments).raw_output

    def describe(self, tool: Any) -> Any:
        return tool.metadata.description, tool.metadata.get_parameters_dict()

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_an_agent_made_before_instrumenting_keeps_its_call_ids(self) -> None:
        """Its steps were collected when it was made; they are looked up when it runs."""

        async def run(agent: FunctionAgent) -> None:
            await agent.run(user_msg="go")

        model = _Model(turns=[[Ask("add", {"a": 1}, "c5")]], told=[])
        agent = FunctionAgent(tools=[self.make_tool(tools.add)], llm=model, streaming=False)
        with self.watched() as records:
            asyncio.run(run(agent))
        (record,) = calls(records)
        assert (record["tool_name"], record["tool_call_id"], record["output"]) == ("add", "c5", 3)

    def test_the_workflow_context_is_not_input(self) -> None:
        """The framework fills it in; parameters that the application set beforehand are input."""

        async def place(ctx: Context, item: str, shop: str = "none") -> str:
            """Order something."""
            return f"{item} of {shop}"

        place.__annotations__["ctx"] = Context  # the framework looks at the class, not at its name
        made = FunctionTool.from_defaults(place, partial_params={"shop": "north"})
        with self.watched() as records:
            self.run_agent([made], [[Ask("place", {"item": "tea"})]])
        (record,) = calls(records)
        assert (record["input"], record["output"]) == ({"item": "tea", "shop": "north"}, "tea of north")

    def test_arguments_that_do_not_fit_the_function_leave_a_rejected_record(self) -> None:
        """LlamaIndex checks nothing: the call itself fails, before the tool's code runs."""
        (record,) = self.both([tools.add], [[Ask("add", {"wrong": 1}, "c6")]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["input"], record["tool_call_id"]) == ({"wrong": 1}, "c6")

    def test_a_tool_called_by_the_older_helpers_is_recorded_the_same(self) -> None:
        """``call_tool`` makes an output of an exception; the record has the exception."""
        with self.watched() as records:
            call_tool(self.make_tool(tools.add), {"a": 1})
            call_tool(self.make_tool(tools.fail), {"city": "Ys"})
        assert only(records, tool_name="add")["output"] == 3
        assert only(records, tool_name="fail")["error"]["message"] == "no city Ys"
