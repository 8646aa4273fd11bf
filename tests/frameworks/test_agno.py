"""Agno: an agent with a scripted model, its functions and toolkits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("agno.agent")

from agno.agent import Agent  # noqa: E402
from agno.models.base import Model  # noqa: E402
from agno.models.response import ModelResponse  # noqa: E402
from agno.run import RunContext  # noqa: E402
from agno.tools import Toolkit  # noqa: E402
from agno.tools.function import Function, FunctionCall  # noqa: E402


class _Model(Model):
    """A model that asks for the tool calls of each turn."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        super().__init__(id="scripted")
        self.turns = list(turns)
        self.told: Transcript = []

    def _answer(self, messages: Any) -> ModelResponse:
        fresh = []
        for message in reversed(messages):
            if message.role != "tool":
                break
            fresh.append(f"{message.tool_call_id} {message.tool_call_error} {message.content}")
        self.told += reversed(fresh)
        if not self.turns:
            return ModelResponse(role="assistant", content="done")
        asked = [
            {
                "id": ask.call_id,
                "type": "function",
                "function": {"name": ask.name, "arguments": json.dumps(ask.arguments)},
            }
            for ask in self.turns.pop(0)
        ]
        return ModelResponse(role="assistant", tool_calls=asked)

    def invoke(self, messages: Any, *_: Any, **options: Any) -> Any:
        return self._answer(messages)

    async def ainvoke(self, messages: Any, *_: Any, **options: Any) -> Any:
        return self._answer(messages)

    def invoke_stream(self, messages: Any, *_: Any, **options: Any) -> Any:
        yield self._answer(messages)

    async def ainvoke_stream(self, messages: Any, *_: Any, **options: Any) -> Any:
        yield self._answer(messages)

    def _parse_provider_response(self, response: Any, **options: Any) -> Any:
        return response

    def _parse_provider_response_delta(self, response: Any) -> Any:
        return response


class Shelf(Toolkit):
    """A toolkit as its users write them."""

    def __init__(self, limit: int = 5) -> None:
        super().__init__(name="shelf", tools=[self.limited])
        self.limit = limit

    def limited(self, n: int) -> int:
        """Return a number within the limit."""
        return min(n, self.limit)


class TestAgno(Contract):
    framework = "agno"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return Function.from_callable(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        if any(asyncio.iscoroutinefunction(getattr(one, "entrypoint", None)) for one in made):
            return asyncio.run(self.run_agent_async(made, turns))
        model = _Model(turns)
        answer = Agent(model=model, tools=list(made), telemetry=False).run("go").content
        return [*model.told, str(answer)]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns)
        answer = await Agent(model=model, tools=list(made), telemetry=False).arun("go")
        return [*model.told, str(answer.content)]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns)
        agent = Agent(model=model, tools=list(made), telemetry=False)
        events = [event.event for event in agent.run("go", stream=True, stream_events=True)]
        return [*events, *model.told]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return Agent(model=_Model(turns), tools=list(made), telemetry=False)

    def talk(self, agent: Any) -> str:
        return str(agent.run("go").content)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        tool.process_entrypoint()
        return FunctionCall(function=tool, arguments=arguments).execute().result

    def describe(self, tool: Any) -> Any:
        tool.process_entrypoint()
        return tool.to_dict()

    def make_configured(self, limit: int) -> Any:
        return Shelf(limit)

    def test_what_the_agent_provides_is_not_input(self) -> None:
        """A run context and the like are filled in beside the model's arguments."""

        def place(item: str, run_context: RunContext) -> str:
            """Order something."""
            return f"{item} {run_context.session_id is not None}"

        (record,) = self.both([place], [[Ask("place", {"item": "tea"})]])
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea True")

    def test_arguments_that_cannot_be_read_leave_a_rejected_record(self) -> None:
        """They never become a call; the record holds them as a text."""

        class Broken(_Model):
            def _answer(self, messages: Any) -> ModelResponse:
                answer = super()._answer(messages)
                for call in answer.tool_calls:
                    call["function"]["arguments"] = "[1, 2"
                return answer

        with self.watched() as records:
            Agent(model=Broken([[Ask("add", {}, "c4")]]), tools=[tools.add], telemetry=False).run("go")
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["tool_call_id"], record["input"]) == ("c4", {"input": "[1, 2"})

    @pytest.mark.parametrize("by", ["class", "instance"])
    def test_a_toolkit_can_be_pointed_at(self, by: str) -> None:
        """By its class or as one object; a direct call of its method is recorded, too."""
        shelf = Shelf(3)
        with self.watched(Shelf if by == "class" else shelf) as records:
            self.run_agent([shelf, tools.add], [[Ask("limited", {"n": 9}, "c1"), Ask("add", {"a": 1}, "c2")]])
            shelf.limited(2)
        seen = [(record["tool_name"], record.get("tool_call_id")) for record in calls(records)]
        assert seen == [("limited", "c1"), ("limited", None)]

    @pytest.mark.parametrize("later", [False, True], ids=["sync run", "async run"])
    @pytest.mark.parametrize("kind", ["sync", "async"])
    @pytest.mark.parametrize("fails", [False, True])
    def test_a_stream_of_a_tool_is_recorded_with_its_items(self, kind: str, fails: bool, later: bool) -> None:
        """The agent reads what a tool gives piece by piece; what fails on the way is a failure, though the
        call itself came back, and what the tool calls on the way is its child."""
        if kind == "async" and not later:
            pytest.skip("a sync run reads no async generator")
        inner = self.make_tool(tools.add)

        def spell(word: str) -> Iterator[str]:
            """Spell a word."""
            yield word[0]
            yield str(self.call_directly(inner, {"a": 1}))
            if fails:
                raise tools.NoSuchCity(word)

        async def spell_later(word: str) -> AsyncIterator[str]:
            """Spell a word."""
            for piece in spell(word):
                yield piece

        spell.__annotations__.update(word=str)
        spell_later.__annotations__.update(word=str)
        function: Any = spell if kind == "sync" else spell_later
        asked: list[Turn] = [[Ask(function.__name__, {"word": "Ys"}, "c1")]]

        def run() -> Transcript:
            if later:
                return asyncio.run(self.run_agent_async([self.make_tool(function)], asked))
            return self.run_agent([self.make_tool(function)], asked)

        plain = run()
        with self.watched() as records:
            assert run() == plain
        child, parent = calls(records)
        assert (parent["tool_name"], parent["tool_call_id"]) == (function.__name__, "c1")
        assert (child["tool_name"], child["parent_id"]) == ("add", parent["span_id"])
        assert parent["output"] == ["Y", "3"]
        assert parent["input"] == {"word": "Ys"}
        if fails:
            assert (parent["status"], parent["error"]["message"]) == ("execution_error", "Ys")
        else:
            assert parent["status"] == "success"

    def test_a_failing_hook_does_not_make_a_failure_of_a_call(self) -> None:
        """What is logged on the way is not the tool's own exception."""

        def grumble() -> None:
            raise RuntimeError("in the hook")

        made = self.make_tool(tools.add)
        made.pre_hook = grumble
        with self.watched() as records:
            self.run_agent([made], [[Ask("add", {"a": 1})]])
        (record,) = calls(records)
        assert (record["status"], record["output"]) == ("success", 3)
