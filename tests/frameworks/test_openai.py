"""OpenAI's SDK: its Responses tool runners and the tool handlers of agent sessions, against a server that
answers by a script; and the loop that a program writes itself.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, ClassVar, get_type_hints

import pytest

import toolog
from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from tests.web import Answers, serving
from toolog.testing import capture, find, only

need("openai.lib.responses_tool_runner")

import openai  # noqa: E402
from openai.lib.beta.agents import FunctionTool, function_tool  # noqa: E402
from openai.lib.beta.agents import pydantic_function_tool as handled_by  # noqa: E402
from openai.lib.responses_tool_runner import (  # noqa: E402
    AsyncRegisteredFunction,
    AsyncResponsesToolRunner,
    RegisteredFunction,
    ResponsesToolRunner,
)
from pydantic import BaseModel, create_model  # noqa: E402


class _Script:
    """What the scripted model says in each turn, and what it was told."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.told: Transcript = []

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the Responses API with the next turn."""
        self.told += [json.dumps(one, sort_keys=True) for one in body["input"] if "output" in one]
        turn = self.turns.pop(0) if self.turns else None
        text = {"type": "output_text", "text": "done", "annotations": []}
        output: list[dict[str, Any]] = [
            {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
        ]
        if turn is not None:
            output = [
                {
                    "type": "function_call", "id": f"fc-{ask.call_id}", "call_id": ask.call_id,
                    "name": ask.name, "arguments": json.dumps(ask.arguments), "status": "completed",
                }
                for ask in turn
            ]  # fmt: skip
        return {
            "id": "r1", "object": "response", "created_at": 1, "model": "scripted", "output": output,
            "status": "completed", "error": None, "incomplete_details": None, "instructions": None,
            "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto",
            "tools": [], "top_p": 1.0,
        }  # fmt: skip

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give the events of an agent session's turn that asks for all calls."""
        turn = {"turn_id": "t1", "session_id": "s1"}
        yield "agent.session.turn.created", {**turn, "turn": {"id": "t1", "subagent_id": None}}
        for ask in (ask for one in self.turns for ask in one):
            item = {
                "id": f"fc-{ask.call_id}", "type": "function_call", "call_id": ask.call_id, "turn_id": "t1",
                "name": ask.name, "arguments": json.dumps(ask.arguments), "status": "in_progress",
            }  # fmt: skip
            yield "agent.session.turn.item.added", {**turn, "item": item}
        yield "agent.session.turn.completed", {**turn, "turn": {"id": "t1"}}
        yield "agent.session.idle", {"session": {"id": "s1", "status": "idle"}}


class _Api(Answers):
    """Serves each script under a number of its own."""

    scripts: ClassVar[dict[str, _Script]] = {}

    def _answer(self, text: str, kind: str = "application/json") -> None:
        self.answer(text.encode(), kind)

    def do_GET(self) -> None:
        script = self.scripts[self.path.split("/")[1]]
        if "/events" not in self.path:
            return self._answer(json.dumps({"id": "s1", "status": "idle"}))
        told = [
            f"event: {kind}\ndata: {json.dumps({'type': kind, 'event_id': f'e{n}', **event})}\n\n"
            for n, (kind, event) in enumerate(script.events())
        ]
        return self._answer("".join(told), "text/event-stream")

    def do_POST(self) -> None:
        script = self.scripts[self.path.split("/")[1]]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "/sessions/" in self.path:
            script.told += [json.dumps(event, sort_keys=True) for event in body["events"]]
            return self._answer("")
        response = script.respond(body)
        if body.get("stream"):
            return self._answer("".join(_streamed(response)), "text/event-stream")
        return self._answer(json.dumps(response))


def _streamed(response: dict[str, Any]) -> Iterator[str]:
    numbers = count()

    def event(kind: str, **fields: Any) -> str:
        return f"data: {json.dumps({'type': kind, 'sequence_number': next(numbers), **fields})}\n\n"

    yield event("response.created", response={**response, "output": [], "status": "in_progress"})
    for index, item in enumerate(response["output"]):
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=response)


@pytest.fixture(scope="module", autouse=True)
def api() -> Iterator[None]:
    """A server on this machine in place of the API."""
    with serving(_Api) as port:
        _OpenAI.url = f"http://127.0.0.1:{port}"
        yield


_numbers = count()


class _OpenAI(Contract):
    """What the SDK's ways of calling tools have in common."""

    framework = "openai"
    url: ClassVar[str]

    def _script(self, turns: Sequence[Turn]) -> tuple[_Script, dict[str, Any]]:
        number, script = str(next(_numbers)), _Script(turns)
        _Api.scripts[number] = script
        return script, {"api_key": "invented", "base_url": f"{self.url}/{number}", "max_retries": 0}


def limited(arguments: dict[str, Any]) -> str:
    """Return a number within 5."""
    return str(min(arguments["n"], 5))


class Limited:
    """A tool with a setting."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def limited(self, arguments: dict[str, Any]) -> str:
        """Return a number within the limit."""
        return str(min(arguments["n"], self.limit))


_LIMITED: Any = {
    "type": "function", "name": "limited", "description": "Return a number within the limit.",
    "strict": False, "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}  # fmt: skip


class TestRunner(_OpenAI):
    gives_raw_output = False  # its functions return texts

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        hints = get_type_hints(function)
        fields: dict[str, Any] = {
            name: (hints[name], ... if one.default is inspect.Parameter.empty else one.default)
            for name, one in inspect.signature(function).parameters.items()
        }
        model = create_model("Arguments", **fields)
        tool = openai.pydantic_responses_function_tool(model, name=function.__name__)
        if asyncio.iscoroutinefunction(function):

            async def run_later(given: BaseModel) -> str:
                return str(await function(**dict(given)))

            return AsyncRegisteredFunction.from_tool(tool, execute=run_later, **options)

        def run(given: BaseModel) -> str:
            return str(function(**dict(given)))

        return RegisteredFunction.from_tool(tool, execute=run, **options)

    _params: ClassVar[Any] = {"model": "scripted", "input": [{"role": "user", "content": "go"}]}

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn], **options: Any) -> Transcript:
        if any(isinstance(one, AsyncRegisteredFunction) for one in made):
            return asyncio.run(self.run_agent_async(made, turns, **options))
        script, settings = self._script(turns)
        with openai.OpenAI(**settings) as client:
            try:
                answer = ResponsesToolRunner(functions=list(made)).run(client, self._params, **options)
            except RuntimeError as error:
                return [*script.told, f"{type(error)} {error}"]
            return [*script.told, answer.output_text]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn], **options: Any) -> Transcript:
        script, settings = self._script(turns)
        async with openai.AsyncOpenAI(**settings) as client:
            try:
                runner = AsyncResponsesToolRunner(functions=list(made))
                answer = await runner.run(client, self._params, **options)
            except RuntimeError as error:
                return [*script.told, f"{type(error)} {error}"]
            return [*script.told, answer.output_text]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        self.run_agent([tool], [[Ask("add", arguments)]])
        return arguments["a"] + 2

    def describe(self, tool: Any) -> Any:
        return vars(tool).get("tool", vars(tool))

    def make_configured(self, limit: int) -> Any:
        return RegisteredFunction(_LIMITED, Limited(limit).limited)

    def test_a_function_that_is_instrumented_itself_is_not_recorded_twice(self) -> None:
        """The runner's wrapper records, the function's own yields; called directly, that one records."""
        with self.watched(self.framework, limited) as records:
            self.run_agent([RegisteredFunction(_LIMITED, limited)], [[Ask("limited", {"n": 9})]])
            limited({"n": 1})
        assert [(record["input"], record["output"]) for record in calls(records)] == [
            ({"n": 9}, "5"), ({"arguments": {"n": 1}}, "1"),
        ]  # fmt: skip

    def test_the_output_is_what_the_function_returned(self) -> None:
        """Not the item that the runner makes of it."""
        (record,) = self.both([tools.add], [[Ask("add", {"a": 1}, "c1")]])
        assert record["output"] == "3"

    @pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
    @pytest.mark.parametrize("eager", [False, True], ids=["streamed", "eager"])
    def test_a_streamed_run_is_recorded_the_same(self, eager: bool, later: bool) -> None:
        """Also where functions run at the same time, while the reply still comes in."""
        function = tools.add_later if later else tools.slow_add
        turns = [[Ask(function.__name__, {"a": n}, f"c{n}") for n in range(4)]]
        options: dict[str, Any] = {"stream": True, "eager": eager, "max_concurrent_calls": 3}
        plain = self.run_agent([self.make_tool(function, independent=True)], turns, **options)
        with self.watched() as records, toolog.session("s-7"):
            made = [self.make_tool(function, independent=True)]
            assert self.run_agent(made, turns, **options) == plain
        assert plain[-1] == "done"
        found = {record["tool_call_id"]: record for record in calls(records)}
        assert {key: record["output"] for key, record in found.items()} == {
            f"c{n}": str(n + 2) for n in range(4)
        }
        assert {record["session_id"] for record in found.values()} == {"s-7"}
        assert len(calls(records)) == 4

    def test_arguments_that_cannot_be_read_leave_a_rejected_record(self) -> None:
        """The runner gives the run up; the record has the model's text and the fault."""
        made = [RegisteredFunction(_LIMITED, limited)]
        with self.watched() as records:
            self.run_agent(made, [[Ask("limited", [1], "c5")]])  # type: ignore[arg-type]
        (record,) = calls(records)
        assert (record["status"], record["tool_call_id"]) == ("validation_error", "c5")
        assert record["input"] == {"input": [1]}
        assert record["error"]["type"] == "ValueError"


class TestSessions(_OpenAI):
    streams = False  # each of its runs is one
    refuses_unknown = False  # they are left to the caller

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return function_tool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        if any(asyncio.iscoroutinefunction(vars(one).get("_handler")) for one in made):
            return asyncio.run(self.run_agent_async(made, turns))
        script, settings = self._script(turns)
        with openai.OpenAI(**settings) as client:
            handlers = {_name_of(one): one for one in made}
            with client.beta.agents.sessions.stream("s1", input="go", tool_handlers=handlers) as stream:
                kinds = [event.type for event in stream]
        return [*script.told, *kinds]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script, settings = self._script(turns)
        async with openai.AsyncOpenAI(**settings) as client:
            handlers = {_name_of(one): one for one in made}
            sessions = client.beta.agents.sessions
            async with sessions.stream("s1", input="go", tool_handlers=handlers) as stream:
                kinds = [event.type async for event in stream]
        return [*script.told, *kinds]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return json.loads(tool(arguments))

    def describe(self, tool: Any) -> Any:
        return tool.name, tool._model.model_json_schema()

    def make_configured(self, limit: int) -> Any:
        class Amount(BaseModel):
            n: int

        class Cut:
            def __init__(self, limit: int) -> None:
                self.limit = limit

            def cut(self, amount: Amount) -> int:
                return min(amount.n, self.limit)

        return handled_by(Amount, handler=Cut(limit).cut, name="limited")

    def test_a_plain_handler_is_recorded_the_same(self) -> None:
        """It is given the model's arguments as one dict; what it cannot be given is rejected."""
        turns = [[Ask("limited", {"n": 9}, "c1"), Ask("limited", [1], "c2")]]  # type: ignore[arg-type]
        plain = self.run_agent([limited], turns)
        with self.watched(self.framework, limited) as records:
            assert self.run_agent([limited], turns) == plain
        good, bad = calls(records)
        assert (good["input"], good["output"], good["tool_call_id"]) == ({"n": 9}, "5", "c1")
        assert (bad["status"], bad["input"], bad["tool_call_id"]) == (
            "validation_error",
            {"input": [1]},
            "c2",
        )

    def test_a_tool_called_in_code_is_recorded(self) -> None:
        """With its raw result, not the text that is made of it; arguments that do not fit, as rejected."""
        made = self.make_tool(tools.add)
        with self.watched() as records:
            assert made({"a": 1}) == "3"
            with pytest.raises(ValueError, match="unable to parse"):
                made({"a": "many"})
        good, bad = calls(records)
        assert (good["input"], good["output"]) == ({"a": 1, "b": 2}, 3)
        assert (bad["status"], bad["input"]) == ("validation_error", {"a": "many"})

    def test_a_tool_that_is_made_meanwhile_holds_the_plain_function(self) -> None:
        """Reading the field that holds it gives a wrapper, the object has none."""
        made = self.make_tool(tools.add)
        with self.watched():
            copied = FunctionTool(made._model, made._handler, name="plus", description="")
            assert vars(copied)["_handler"] is vars(made)["_handler"]
        assert copied._handler is made._handler


def _name_of(handler: Any) -> str:
    return handler.name if isinstance(handler, FunctionTool) else handler.__name__


def test_a_loop_of_ones_own_is_recorded_by_the_functions_with_the_id_as_a_tag() -> None:
    """The SDK calls nothing there: the module is instrumented, and ``bind`` says which request it was."""
    from openai.types.chat import ChatCompletionMessageFunctionToolCall as Call

    asked = [
        Call.model_validate(
            {"id": f"call-{n}", "type": "function", "function": {"name": name, "arguments": text}}
        )
        for n, (name, text) in enumerate(
            [("add", '{"a": 1}'), ("fail", '{"city": "Ys"}'), ("add", '{"a": 3}')]
        )
    ]

    def answer(call: Call) -> str:
        with toolog.bind(tool_call_id=call.id):
            try:
                return str(getattr(tools, call.function.name)(**json.loads(call.function.arguments)))
            except LookupError as error:
                return str(error)

    threads = toolog.instrument_threads()
    made = toolog.instrument(tools)
    try:
        with capture("INFO") as records, ThreadPoolExecutor(3) as pool:
            assert list(pool.map(answer, asked)) == ["3", "no city Ys", "5"]
    finally:
        made.undo()
        threads.undo()
    found = {record["tags"]["tool_call_id"]: record for record in calls(records)}
    assert {key: (one["tool_name"], one["status"], one["input"]) for key, one in found.items()} == {
        "call-0": ("add", "success", {"a": 1, "b": 2}),
        "call-1": ("fail", "execution_error", {"city": "Ys"}),
        "call-2": ("add", "success", {"a": 3, "b": 2}),
    }
    assert only(records, tool_name="fail")["error"]["type"].endswith("NoSuchCity")
    assert not find(records, event="tool_instance")
