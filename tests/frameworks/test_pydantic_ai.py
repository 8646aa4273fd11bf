"""Pydantic AI: an agent's own tools and toolsets, driven by a scripted function model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("pydantic_ai")

from pydantic import BaseModel  # noqa: E402
from pydantic_ai import (  # noqa: E402
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolDenied,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel  # noqa: E402
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool  # noqa: E402


class _Script:
    """A model that asks for the tool calls of each turn, and keeps what it was told."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.told: Transcript = []

    def _hear(self, messages: list[ModelMessage]) -> Turn | None:
        self.told += [
            f"{part.part_kind} {getattr(part, 'tool_call_id', '')} {part.content!r}"
            for part in messages[-1].parts
            if hasattr(part, "content")
        ]
        return self.turns.pop(0) if self.turns else None

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = self._hear(messages)
        if turn is None:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(ask.name, ask.arguments, ask.call_id) for ask in turn])

    async def stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        turn = self._hear(messages)
        if turn is None:
            yield "do"
            yield "ne"
        for number, ask in enumerate(turn or ()):
            yield {number: DeltaToolCall(ask.name, json.dumps(ask.arguments), tool_call_id=ask.call_id)}

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self.answer, stream_function=self.stream)


class Order(BaseModel):
    """What a tool takes as its only argument."""

    number: int


@pytest.mark.filterwarnings("ignore:Could not generate return schema")
class TestPydanticAi(Contract):
    framework = "pydantic-ai"
    inner_call_id = "in"
    handles_errors = False

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return Tool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script = _Script(turns)
        agent = Agent(script.model, tools=list(made), retries=3)
        try:
            answer = (await agent.run("go")).output
            return [*script.told, answer]
        except Exception as error:
            return [*script.told, f"{type(error).__name__} {error}"]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def stream() -> Transcript:
            script, pieces = _Script(turns), list[str]()
            try:
                async with Agent(script.model, tools=list(made)).run_stream("go") as run:
                    pieces += [piece async for piece in run.stream_text(delta=True)]
            except tools.NoSuchCity as error:
                pieces.append(repr(error))
            return [*script.told, *pieces]

        return asyncio.run(stream())

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return Agent(_Script(turns).model, tools=list(made))

    def talk(self, agent: Any) -> str:
        return str(asyncio.run(agent.run("go")).output)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.function(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.tool_def

    def make_configured(self, limit: int) -> Any:
        return Tool(tools.Toolbox(limit).limited)

    def test_the_run_context_is_not_input(self) -> None:
        """What the framework puts in first is left out; a model as single argument keeps its name."""

        def place(ctx: RunContext[str], order: Order) -> str:
            return f"{ctx.deps} {order.number}"

        def pick(*numbers: int, sure: bool = True) -> int:
            return sum(numbers)

        script = _Script([[Ask("place", {"number": "7"}, "c1"), Ask("pick", {"numbers": [1, "2"]}, "c2")]])
        agent = Agent(script.model, tools=[Tool(place), Tool(pick)], deps_type=str)
        with self.watched() as records:
            asyncio.run(agent.run("go", deps="secret-store"))
        placed, picked = only(records, tool_name="place"), only(records, tool_name="pick")
        assert (placed["input"], placed["output"]) == ({"order": {"number": 7}}, "secret-store 7")
        assert (picked["input"], picked["output"]) == ({"numbers": [1, 2], "sure": True}, 3)

    def test_a_retry_that_a_tool_asks_for_is_its_own_exception(self) -> None:
        """ModelRetry is what the tool raised; what the framework tells the model stands in the chain."""

        def moody(n: int) -> int:
            raise ModelRetry("not this one")

        (record,) = self.both([moody], [[Ask("moody", {"n": 1})]])
        assert record["error"]["type"].endswith("ModelRetry")
        assert record["error"]["message"] == "not this one"
        assert record["error"]["chain"][-1]["type"].endswith("ToolRetryError")

    def test_a_tool_that_the_framework_gives_up_in_time_is_a_timeout(self) -> None:
        """Not a cancellation, nor a request to try again."""
        script = _Script([[Ask("wait", {"seconds": 60.0})]])
        agent = Agent(script.model, tools=[Tool(tools.wait, timeout=0.05)])
        with self.watched() as records:
            assert asyncio.run(agent.run("go")).output == "done"
        (record,) = calls(records)
        assert (record["status"], record["error"]["type"]) == ("timeout", "TimeoutError")

    def test_a_renamed_tool_has_the_name_that_the_model_knows(self) -> None:
        """A prefix belongs to the name; the toolset can be pointed at."""
        toolset: FunctionToolset[None] = FunctionToolset([tools.add])
        script = _Script([[Ask("shop_add", {"a": 1})]])
        agent = Agent(script.model, toolsets=[toolset.prefixed("shop")])
        with self.watched(toolset) as records:
            asyncio.run(agent.run("go"))
        (record,) = calls(records)
        assert (record["tool_name"], record["output"]) == ("shop_add", 3)

    @pytest.mark.parametrize("fails", [False, True])
    def test_a_tool_of_another_toolset_is_recorded(self, fails: bool) -> None:
        """One that is no function: its result, or its exception, is not mistaken for bad arguments."""

        class Remote(AbstractToolset[None]):
            id = "remote"

            async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
                held = await FunctionToolset([tools.add]).get_tools(ctx)
                return {
                    name: ToolsetTool(
                        toolset=self, tool_def=one.tool_def, max_retries=1, args_validator=one.args_validator
                    )
                    for name, one in held.items()
                }

            async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
                if fails:
                    raise ModelRetry("gone")
                return {"by": name, **tool_args}

        script = _Script([[Ask("add", {"a": 1}, "r1")]])
        with self.watched() as records:
            asyncio.run(Agent(script.model, toolsets=[Remote()]).run("go"))
        (record,) = calls(records)
        assert record["tool_call_id"] == "r1"
        if fails:
            assert (record["status"], record["error"]["message"]) == ("execution_error", "gone")
        else:
            assert record["output"] == {"by": "add", "a": 1, "b": 2}

    def test_one_agent_can_be_pointed_at(self) -> None:
        """Its tools are recorded, those of another agent are not."""
        script, other = (_Script([[Ask("add", {"a": 1}, "c1")]]) for _ in range(2))
        wanted = Agent(script.model, tools=[tools.add])
        with self.watched(wanted) as records:
            asyncio.run(wanted.run("go"))
            asyncio.run(Agent(other.model, tools=[tools.add]).run("go"))
        assert len(calls(records)) == 1


def test_a_call_that_is_put_off_is_cancelled_and_a_denied_one_rejected() -> None:
    """A tool that asks for approval, or defers, is no failure; what a person denied never ran; what was
    approved is a call of its own."""

    def pay(amount: int) -> str:
        return f"paid {amount}"

    def refund(ctx: RunContext[None], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"refunded {amount}"

    def later(amount: int) -> str:
        raise CallDeferred

    script = _Script([
        [Ask(name, {"amount": number}, f"{name}-{number}")
         for name, number in (("pay", 1), ("pay", 2), ("refund", 3), ("later", 4))],
    ])  # fmt: skip
    made = [Tool(pay, requires_approval=True), Tool(refund), Tool(later)]
    agent: Any = Agent(script.model, tools=made, output_type=[str, DeferredToolRequests])

    async def run() -> str:
        waits = await agent.run("go")
        given = DeferredToolResults(
            approvals={"pay-1": True, "pay-2": ToolDenied("too much"), "refund-3": True},
            calls={"later-4": "late"},
        )
        history = waits.all_messages()
        return str((await agent.run(message_history=history, deferred_tool_results=given)).output)

    with TestPydanticAi().watched() as records:
        assert asyncio.run(run()) == "done"
    seen = sorted((one["tool_call_id"], one["event"], one["status"]) for one in calls(records))
    assert seen == [
        ("later-4", "tool_call_cancelled", "cancelled"), ("pay-1", "tool_call_success", "success"),
        ("pay-2", "tool_call_rejected", "context_error"), ("refund-3", "tool_call_cancelled", "cancelled"),
        ("refund-3", "tool_call_success", "success"),
    ]  # fmt: skip
    denied = only(records, tool_call_id="pay-2")
    assert (denied["input"], denied["error"]["message"]) == ({"amount": 2}, "too much")
    assert only(records, tool_call_id="later-4")["error"]["type"].endswith("CallDeferred")
