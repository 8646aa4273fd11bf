"""Anthropic's SDK: its tool runners, sync, async and streaming, against a server that answers by a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from tests.web import Answers, serving
from toolog.testing import only

need("anthropic")

import anthropic  # noqa: E402
from anthropic import beta_async_tool, beta_tool  # noqa: E402
from anthropic.lib.tools import ToolError  # noqa: E402
from anthropic.lib.tools._beta_functions import BetaBuiltinFunctionTool  # noqa: E402
from pydantic import BeforeValidator  # noqa: E402


class _Api(Answers):
    """Answers each request with the next turn of the script, and keeps what it was told."""

    turns: ClassVar[list[Turn]] = []
    told: ClassVar[Transcript] = []
    more: ClassVar[dict[str, Any]] = {}
    """What else stands in each request for a tool."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told.append(json.dumps(body["messages"][-1], sort_keys=True))
        turn = self.turns.pop(0) if self.turns else None
        content: list[dict[str, Any]] = [{"type": "text", "text": "done"}]
        if turn is not None:
            content = [
                {"type": "tool_use", "id": ask.call_id, "name": ask.name, "input": ask.arguments, **self.more}
                for ask in turn
            ]
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
            "stop_reason": "end_turn" if turn is None else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        streams = body.get("stream", False)
        answer = "".join(_events(message)) if streams else json.dumps(message)
        self.answer(answer.encode(), "text/event-stream" if streams else "application/json")


def _events(message: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": 1})
    yield event("message_stop")


@pytest.fixture(scope="module", autouse=True)
def api() -> Iterator[str]:
    """A server on this machine in place of the API."""
    with serving(_Api) as port:
        TestAnthropic.url = f"http://127.0.0.1:{port}"
        yield TestAnthropic.url


class Limited(BetaBuiltinFunctionTool):
    """A tool of a class."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def to_dict(self) -> Any:
        return {
            "name": "limited", "description": "Return a number within the limit.",
            "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }  # fmt: skip

    def call(self, input: Any) -> str:
        return str(min(input["n"], self.limit))


@pytest.mark.filterwarnings("ignore:Tool '.*' not found in tool runner")
class TestAnthropic(Contract):
    framework = "anthropic"
    url: ClassVar[str]

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        if asyncio.iscoroutinefunction(function):
            return beta_async_tool(function, **options)
        return beta_tool(function, **options)

    def _script(self, turns: Sequence[Turn]) -> dict[str, Any]:
        _Api.turns[:] = turns
        _Api.told.clear()
        return {"api_key": "invented", "base_url": self.url, "max_retries": 0}

    _asked: ClassVar[dict[str, Any]] = {
        "model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}],
    }  # fmt: skip

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        if any("Async" in type(one).__name__ for one in made):
            return asyncio.run(self.run_agent_async(made, turns))
        with anthropic.Anthropic(**self._script(turns)) as client:
            runner = client.beta.messages.tool_runner(tools=list(made), **self._asked)
            answer = runner.until_done()
            return [*_Api.told, str(answer.content[0])]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async with anthropic.AsyncAnthropic(**self._script(turns)) as client:
            runner = client.beta.messages.tool_runner(tools=list(made), **self._asked)
            answer = await runner.until_done()
            return [*_Api.told, str(answer.content[0])]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.call(arguments)

    def describe(self, tool: Any) -> Any:
        return tool.to_dict()

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_arguments_that_do_not_fit_tell_the_real_fault(self) -> None:
        """The validation's own error, not the text that the runner makes of it."""
        (record,) = self.both([tools.add], [[Ask("add", {"wrong": 1}, "t1")]])
        assert (record["status"], record["input"]) == ("validation_error", {"wrong": 1})
        assert record["error"]["type"].endswith("ValidationError")
        assert record["tool_call_id"] == "t1"

    def test_arguments_are_checked_once(self) -> None:
        """The record has what came of them, also of a method's; a user's check runs as often as ever."""
        checked = []

        def double(value: str) -> int:
            checked.append(value)
            return 2 * int(value)

        Doubled = Annotated[int, BeforeValidator(double)]

        def pay(amount: Any) -> str:
            """Pay."""
            return str(amount)

        pay.__annotations__.update(amount=Doubled)
        (record,) = self.both([pay], [[Ask("pay", {"amount": "4"})]])
        assert checked == ["4", "4"]  # once without and once with toolog
        assert (record["input"], record["output"]) == ({"amount": 8}, "8")
        (record,) = self.both([tools.Toolbox(3).limited], [[Ask("limited", {"n": "9"})]])
        assert (record["input"], record["output"]) == ({"n": 9}, 3)

    @pytest.mark.parametrize("eager", [False, True])
    def test_a_streamed_run_is_recorded_the_same(self, eager: bool) -> None:
        """Also where a tool runs while the reply still comes in; an unknown tool keeps its arguments."""
        turns = [
            [Ask("add", {"a": 1}, "t1"), Ask("nowhere", {"q": 7}, "t2"), Ask("fail", {"city": "Ys"}, "t3")]
        ]
        made = [self.make_tool(tools.add), self.make_tool(tools.fail)]

        def run() -> Transcript:
            with anthropic.Anthropic(**self._script(turns)) as client:
                runner = client.beta.messages.tool_runner(
                    tools=made, stream=True, run_tools_eagerly=eager, **self._asked
                )
                for stream in runner:
                    for _ in stream:
                        pass
                return list(_Api.told)

        plain = run()
        with self.watched() as records:
            assert run() == plain
        found = {record["tool_call_id"]: record for record in calls(records)}
        assert {key: (one["tool_name"], one["status"]) for key, one in found.items()} == {
            "t1": ("add", "success"), "t2": ("nowhere", "unknown_tool"), "t3": ("fail", "execution_error"),
        }  # fmt: skip
        assert found["t2"]["input"] == {"q": 7}
        assert len(calls(records)) == 3

    def test_an_async_runner_tells_unknown_tools_too(self) -> None:
        """Sync and async runners are two classes of the SDK."""
        turns = [[Ask("add_later", {"a": 1}, "t1"), Ask("nowhere", {"q": 7}, "t2")]]
        with self.watched() as records:
            asyncio.run(self.run_agent_async([self.make_tool(tools.add_later)], turns))
        assert only(records, tool_name="nowhere")["status"] == "unknown_tool"
        assert only(records, tool_name="add_later")["output"] == 3

    def test_an_error_with_content_is_a_failure(self) -> None:
        """ToolError is how a tool gives the model a structured error."""

        def refuse(word: str) -> str:
            """Refuse."""
            raise ToolError(f"not {word}")

        (record,) = self.both([refuse], [[Ask("refuse", {"word": "now"})]])
        assert (record["status"], record["error"]["message"]) == ("execution_error", "not now")

    def test_the_client_itself_is_no_tool(self) -> None:
        """A request to the API is not recorded; the tool runner's tools are."""
        with self.watched() as records, anthropic.Anthropic(**self._script([])) as client:
            client.beta.messages.create(**self._asked)
        assert calls(records) == []


def test_members_of_a_toolset_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its own name, with its own result or exception; what the toolset or a person refuses, and what
    is not run after a failure, is rejected; the model is told the same."""
    computer = pytest.importorskip("anthropic.tools.computer")

    class Desk(computer.BetaAbstractComputerToolset20260801):  # type: ignore[misc,name-defined]
        def left_click(self, context: Any, input: Any) -> str:
            return "clicked"

        def type(self, context: Any, input: Any) -> str:
            return "typed"

        def key(self, context: Any, input: Any) -> str:
            raise LookupError("no such key")

    asks = [
        Ask("left_click", {"coordinate": [1, 2]}, "t1"), Ask("type", {"text": "hello"}, "t2"),
        Ask("key", {"text": "a"}, "t3"), Ask("zoom", {}, "t4"), Ask("nowhere", {}, "t5"),
        Ask("left_click", {"coordinate": "x"}, "t6"),
    ]  # fmt: skip
    turns = [
        *([ask] for ask in asks),
        [Ask("key", {"text": "b"}, "t7"), Ask("left_click", {"coordinate": [1, 2]}, "t8")],
    ]
    contract = TestAnthropic()
    desk = Desk(confirm=lambda asked: asked.tool_use.name != "type")
    monkeypatch.setattr(_Api, "more", {"toolset_name": desk.toolset_name})
    plain = contract.run_agent([desk], turns)
    with contract.watched() as records:
        assert contract.run_agent([desk], turns) == plain
    found = {record["tool_call_id"]: record for record in calls(records)}
    assert len(calls(records)) == len(found)
    assert {key: (one["tool_name"], one["status"]) for key, one in found.items()} == {
        "t1": ("left_click", "success"), "t2": ("type", "context_error"), "t3": ("key", "execution_error"),
        "t4": ("zoom", "context_error"), "t5": ("nowhere", "unknown_tool"),
        "t6": ("left_click", "validation_error"), "t7": ("key", "execution_error"),
        "t8": ("left_click", "context_error"),
    }  # fmt: skip
    assert found["t1"]["input"] == {"coordinate": [1, 2]}
    assert "clicked" in json.dumps(found["t1"]["output"])
    assert found["t3"]["error"]["type"] == "LookupError"


async def test_what_a_sessions_runner_calls_has_the_events_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions' runner calls tools by events; a tool that takes too long is a timeout."""
    sessions = pytest.importorskip("anthropic.lib.tools._beta_session_runner")
    runner = sessions.SessionToolRunner.__new__(sessions.SessionToolRunner)
    contract = TestAnthropic()

    async def ask(function: Any, call_id: str, **arguments: Any) -> None:
        event = SimpleNamespace(
            type="agent.custom_tool_use", name=function.__name__, id=call_id, session_thread_id=None
        )
        await runner._call_tool(contract.make_tool(function), event, arguments)

    with contract.watched() as records:
        await ask(tools.add, "e1", a=1)
        await ask(tools.fail_later, "e2", city="Ys")
        await ask(tools.add_later, "e3", a="many")
        monkeypatch.setattr(sessions, "TOOL_TIMEOUT", 0.05)
        await ask(tools.wait, "e4", seconds=60.0)
    assert [(record["tool_call_id"], record["status"]) for record in calls(records)] == [
        ("e1", "success"), ("e2", "execution_error"), ("e3", "validation_error"), ("e4", "timeout"),
    ]  # fmt: skip


async def test_a_tool_that_stands_for_one_of_an_mcp_server_has_the_models_names() -> None:
    """The SDK's function takes whatever it gets."""
    helpers = pytest.importorskip("anthropic.lib.tools.mcp")
    types = pytest.importorskip("mcp.types")

    class Far:
        async def call_tool(self, name: str, arguments: Any, **options: Any) -> Any:
            content = [{"type": "text", "text": f"{name} of {arguments['n']}"}]
            return types.CallToolResult.model_validate({"content": content})

    made = helpers.async_mcp_tool(
        types.Tool.model_validate({"name": "twice", "inputSchema": {"type": "object"}}), Far()
    )
    with TestAnthropic().watched() as records:
        await made.call({"n": 4})
    (record,) = calls(records)
    assert (record["tool_name"], record["input"]) == ("twice", {"n": 4})
