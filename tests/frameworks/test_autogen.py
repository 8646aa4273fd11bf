"""AutoGen: an AssistantAgent with its workbench, driven by a replaying model client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("autogen_core", "autogen_agentchat")

from autogen_agentchat.agents import AssistantAgent  # noqa: E402
from autogen_core import CancellationToken, FunctionCall  # noqa: E402
from autogen_core.models import (  # noqa: E402
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    ModelFamily,
    RequestUsage,
)
from autogen_core.tools import (  # noqa: E402
    BaseStreamTool,
    BaseTool,
    FunctionTool,
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    Workbench,
)
from pydantic import BaseModel  # noqa: E402


class _Model(ChatCompletionClient):
    """A model client that asks for the tool calls of each turn."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.told: Transcript = []

    async def create(self, messages: Sequence[Any], **options: Any) -> CreateResult:
        if isinstance(messages[-1], FunctionExecutionResultMessage):
            self.told += [f"{one.call_id} {one.is_error} {one.content}" for one in messages[-1].content]
        content: Any = "done"
        if self.turns:
            content = [
                FunctionCall(id=ask.call_id, name=ask.name, arguments=json.dumps(ask.arguments))
                for ask in self.turns.pop(0)
            ]
        return CreateResult(
            finish_reason="stop" if content == "done" else "function_calls",
            content=content,
            usage=RequestUsage(1, 1),
            cached=False,
        )

    async def create_stream(self, messages: Sequence[Any], **options: Any) -> Any:
        answer = await self.create(messages)
        if isinstance(answer.content, str):
            for piece in answer.content:
                yield piece
        yield answer

    async def close(self) -> None:
        """Hold nothing."""

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def count_tokens(self, *_: Any, **options: Any) -> int:
        return 0

    def remaining_tokens(self, *_: Any, **options: Any) -> int:
        return 1000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> Any:
        return {
            "vision": False, "function_calling": True, "json_output": False, "family": ModelFamily.UNKNOWN,
            "structured_output": False,
        }  # fmt: skip


class _Number(BaseModel):
    n: int


class Limited(BaseTool[_Number, BaseModel]):
    """A tool of a class."""

    def __init__(self, limit: int = 5) -> None:
        super().__init__(_Number, int, "limited", "Return a number within the limit.")  # type: ignore[arg-type]
        self.limit = limit

    async def run(self, args: _Number, cancellation_token: CancellationToken) -> Any:
        return min(args.n, self.limit)


class TestAutogen(Contract):
    framework = "autogen"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return FunctionTool(function, description=function.__doc__ or "", **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn], **options: Any) -> Transcript:
        model = _Model(turns)
        agent = AssistantAgent("helper", model, tools=list(made) or None, max_tool_iterations=9, **options)
        result = await agent.run(task="go")
        return [*model.told, str(result.messages[-1].content)]  # type: ignore[union-attr]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def stream() -> Transcript:
            model = _Model(turns)
            agent = AssistantAgent("helper", model, tools=list(made), model_client_stream=True,
                                   max_tool_iterations=9)  # fmt: skip
            return [*[type(one).__name__ async for one in agent.run_stream(task="go")], *model.told]

        return asyncio.run(stream())

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return AssistantAgent("helper", _Model(turns), tools=list(made), max_tool_iterations=9)

    def talk(self, agent: Any) -> str:
        return str(asyncio.run(agent.run(task="go")).messages[-1].content)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return asyncio.run(tool.run_json(arguments, CancellationToken()))

    def describe(self, tool: Any) -> Any:
        return tool.schema

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_a_renamed_tool_has_the_name_that_the_model_knows(self) -> None:
        """A workbench may give a tool another name."""

        async def run() -> Transcript:
            bench = StaticWorkbench(
                [self.make_tool(tools.add)], tool_overrides={"add": ToolOverride(name="plus")}
            )
            return await self.run_agent_async([], [[Ask("plus", {"a": 1}, "c3")]], workbench=bench)

        with self.watched() as records:
            asyncio.run(run())
        (record,) = calls(records)
        assert (record["tool_name"], record["tool_call_id"], record["output"]) == ("plus", "c3", 3)

    def test_a_cancellation_token_is_not_input(self) -> None:
        """The framework fills it in beside the model's arguments."""

        async def patient(word: str, cancellation_token: CancellationToken) -> str:
            """Say it."""
            return word

        (record,) = self.both([patient], [[Ask("patient", {"word": "w"})]])
        assert (record["input"], record["output"]) == ({"word": "w"}, "w")

    def test_arguments_that_are_no_json_leave_a_rejected_record(self) -> None:
        """The agent answers them itself, with no tool called."""

        class Broken(_Model):
            async def create(self, messages: Sequence[Any], **options: Any) -> CreateResult:
                answer = await super().create(messages, **options)
                for call in answer.content if isinstance(answer.content, list) else ():
                    call.arguments = '{"a": '
                return answer

        agent = AssistantAgent("helper", Broken([[Ask("add", {"a": 1}, "c4")]]), tools=[tools.add])
        with self.watched() as records:
            asyncio.run(agent.run(task="go"))
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["tool_call_id"], record["input"]) == ("c4", {"input": '{"a": '})

    def test_a_failing_workbench_of_another_kind_is_a_failure(self) -> None:
        """A result that says it is an error is one; its tool lies outside, so it was not refused."""

        class Remote(Workbench):
            async def nothing(self, *_: Any) -> Any:
                return {}

            start = stop = reset = save_state = load_state = nothing

            async def list_tools(self) -> Any:
                return [{"name": "far", "description": "Far away."}]

            async def call_tool(self, name: str, *args: Any, **kwargs: Any) -> Any:
                return ToolResult(name=name, result=[TextResultContent(content="gone")], is_error=True)

        async def run() -> Transcript:
            return await self.run_agent_async([], [[Ask("far", {})]], workbench=Remote())

        with self.watched() as records:
            asyncio.run(run())
        (record,) = calls(records)
        assert (record["status"], record["error"]["message"]) == ("execution_error", "gone")

    def test_a_tool_that_streams_is_one_record(self) -> None:
        """Its items are the record's, and the workbench gives them as ever."""

        class Count(BaseStreamTool[_Number, _Number, BaseModel]):
            def __init__(self) -> None:
                super().__init__(_Number, _Number, "count", "Count.")  # type: ignore[arg-type]

            async def run(self, args: _Number, cancellation_token: CancellationToken) -> Any:
                return args

            async def run_stream(self, args: _Number, cancellation_token: CancellationToken) -> Any:
                for n in range(args.n):
                    yield _Number(n=n)
                yield _Number(n=args.n)

        def run() -> Transcript:
            async def stream() -> Transcript:
                bench = StaticStreamWorkbench([Count()])
                return [repr(one) async for one in bench.call_tool_stream("count", {"n": 2}, call_id="c9")]

            return asyncio.run(stream())

        plain = run()
        with self.watched() as records:
            assert run() == plain
        (record,) = calls(records)
        assert (record["tool_name"], record["tool_call_id"], record["status"]) == ("count", "c9", "success")
        assert record["input"] == {"n": 2}
        assert [one["n"] for one in record["output"]] == [0, 1, 2]

    def test_a_static_workbench_refuses_what_it_has_not(self) -> None:
        """Called in code, past an agent: with a result or with a stream of results."""

        async def run() -> None:
            await StaticWorkbench([]).call_tool("nowhere", {"x": 1}, call_id="c5")
            async for _ in StaticStreamWorkbench([]).call_tool_stream("nowhere", {"x": 1}, call_id="c6"):
                pass

        with self.watched() as records:
            asyncio.run(run())
        assert [(one["status"], one["tool_call_id"], one["input"]) for one in calls(records)] == [
            ("unknown_tool", "c5", {"x": 1}), ("unknown_tool", "c6", {"x": 1}),
        ]  # fmt: skip
