"""Haystack: an Agent with a scripted chat generator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("haystack.components.agents.tool_calling")

from haystack import component  # noqa: E402
from haystack.components.agents import Agent  # noqa: E402
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall  # noqa: E402
from haystack.tools import Tool, create_tool_from_function  # noqa: E402


@component
class _Model:
    """A chat generator that asks for the tool calls of each turn."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.told: Transcript = []

    def _answer(self, messages: list[ChatMessage]) -> dict[str, Any]:
        self.told += [
            f"{result.origin.id} {result.error} {result.result}"
            for message in messages
            for result in message.tool_call_results
        ]
        if not self.turns:
            return {"replies": [ChatMessage.from_assistant("done")]}
        asked = [ToolCall(ask.name, ask.arguments, id=ask.call_id) for ask in self.turns.pop(0)]
        return {"replies": [ChatMessage.from_assistant(tool_calls=asked)]}

    @component.output_types(replies=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        answer = self._answer(messages)
        if streaming_callback is not None:
            for piece in (answer["replies"][0].text or "asks").split("n"):
                streaming_callback(StreamingChunk(piece))
        return answer

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        return self._answer(messages)


class Limited(Tool):
    """A tool of a class."""

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit
        super().__init__(
            name="limited",
            description="Return a number within the limit.",
            parameters={"type": "object", "properties": {"n": {"type": "integer"}}},
            function=self.cut,
        )

    def cut(self, n: int) -> int:
        return min(n, self.limit)


class TestHaystack(Contract):
    framework = "haystack"
    refuses_arguments = False

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return create_tool_from_function(function, **options)

    def _agent(self, model: Any, made: Sequence[Any]) -> Agent:
        return Agent(chat_generator=model, tools=list(made))

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        if any(one.function is None for one in made):
            return asyncio.run(self.run_agent_async(made, turns))
        model = _Model(turns)
        answer = self._agent(model, made).run(messages=[ChatMessage.from_user("go")])
        return [*model.told, str(answer["last_message"].text)]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns)
        answer = await self._agent(model, made).run_async(messages=[ChatMessage.from_user("go")])
        return [*model.told, str(answer["last_message"].text)]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model, pieces = _Model(turns), list[str]()
        agent = self._agent(model, made)
        agent.run(
            messages=[ChatMessage.from_user("go")], streaming_callback=lambda one: pieces.append(one.content)
        )
        return [*pieces, *model.told]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return self._agent(_Model(turns), made)

    def talk(self, agent: Any) -> str:
        return str(agent.run(messages=[ChatMessage.from_user("go")])["last_message"].text)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.invoke(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.description, tool.parameters

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_what_comes_from_the_state_is_not_input(self) -> None:
        """The agent fills it in beside the model's arguments."""

        def place(item: str, shop: str) -> str:
            """Order something."""
            return f"{item} of {shop}"

        made = create_tool_from_function(place, inputs_from_state={"shop": "shop"})
        model = _Model([[Ask("place", {"item": "tea"}, "c1")]])
        agent = Agent(chat_generator=model, tools=[made], state_schema={"shop": {"type": str}})
        with self.watched() as records:
            agent.run(messages=[ChatMessage.from_user("go")], shop="north")
        (record,) = calls(records)
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea of north")

    def test_a_sync_tool_of_an_async_run_is_recorded_once(self) -> None:
        """``invoke_async`` runs ``invoke`` in a thread."""
        with self.watched() as records:
            asyncio.run(self.run_agent_async([self.make_tool(tools.add)], [[Ask("add", {"a": 1}, "c2")]]))
        (record,) = calls(records)
        assert (record["tool_call_id"], record["output"]) == ("c2", 3)

    def test_arguments_that_do_not_fit_the_function_leave_a_rejected_record(self) -> None:
        """Haystack checks nothing: the call itself fails, before the tool's code runs."""
        (record,) = self.both([tools.add], [[Ask("add", {"wrong": 1}, "c6")]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["input"], record["tool_call_id"]) == ({"wrong": 1}, "c6")
        assert record["error"]["type"] == "TypeError"
        assert record["error"]["chain"][-1]["type"].endswith("ToolInvocationError")
