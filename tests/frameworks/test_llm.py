"""llm: functions, toolboxes, async models and parallel calls, driven by a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("llm")

import llm  # noqa: E402


class _Script:
    """What a scripted model says in each turn, and what it was told."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = [list(turn) for turn in turns]
        self.told: Transcript = []

    def answer(self, prompt: Any, response: Any) -> str:
        self.told += [f"{told.name} {told.output} {told.tool_call_id}" for told in prompt.tool_results]
        if not self.turns:
            return "done"
        for ask in self.turns.pop(0):
            response.add_tool_call(llm.ToolCall(ask.name, ask.arguments, ask.call_id))
        return ""


class _Model(llm.Model):
    model_id = "scripted"
    supports_tools = True

    def __init__(self, script: _Script) -> None:
        self.script = script

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        yield self.script.answer(prompt, response)


class _AsyncModel(llm.AsyncModel):
    model_id = "scripted-async"
    supports_tools = True

    def __init__(self, script: _Script) -> None:
        self.script = script

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncIterator[str]:
        yield self.script.answer(prompt, response)


class Store(llm.Toolbox):
    """A toolbox as its users write them."""

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit

    def limited(self, n: int) -> int:
        """Return a number within the limit."""
        return min(n, self.limit)

    def twice(self, n: int) -> int:
        """Return a number within the limit, twice."""
        return 2 * self.limited(n)


class TestLlm(Contract):
    framework = "llm"
    refuses_arguments = False

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return llm.Tool.function(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script = _Script(turns)
        answer = _Model(script).chain("go", tools=list(made)).text()
        return [*script.told, answer]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script = _Script(turns)
        answer = await _AsyncModel(script).chain("go", tools=list(made)).text()
        return [*script.told, answer]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script = _Script(turns)
        return [*list(_Model(script).chain("go", tools=list(made), stream=True)), *script.told]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.implementation(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.input_schema

    def make_configured(self, limit: int) -> Any:
        return Store(limit)

    configured_name = "Store_limited"

    def test_arguments_that_do_not_fit_the_function_leave_a_rejected_record(self) -> None:
        """llm checks nothing: the call itself fails, before the tool's code runs."""
        (record,) = self.both([tools.add], [[Ask("add", {"wrong": 1})]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert record["input"] == {"wrong": 1}
        assert record["error"]["type"] == "TypeError"

    def test_an_async_model_runs_the_same_calls(self) -> None:
        """Sync and async tools of one turn, an unknown one, one that raises: one record each."""
        asks = [
            Ask("add", {"a": 1}, "c1"), Ask("add_later", {"a": 2}, "c2"),
            Ask("fail_later", {"city": "Ys"}, "c3"), Ask("nowhere", {"x": 1}, "c4"),
        ]  # fmt: skip
        made = [tools.add, tools.add_later, tools.fail_later]
        plain = asyncio.run(self.run_agent_async(made, [asks]))
        with self.watched() as records:
            assert asyncio.run(self.run_agent_async(made, [asks])) == plain
        found = {record["tool_call_id"]: record for record in calls(records)}
        assert {key: record["status"] for key, record in found.items()} == {
            "c1": "success", "c2": "success", "c3": "execution_error", "c4": "unknown_tool",
        }  # fmt: skip
        assert found["c2"]["output"] == 4
        assert found["c4"]["input"] == {"x": 1}

    def test_the_request_that_llm_hands_to_a_tool_is_not_its_input(self) -> None:
        """A parameter ``llm_tool_call`` is filled by llm, not by the model."""

        def curious(word: str, llm_tool_call: Any) -> str:
            return f"{word} {llm_tool_call.tool_call_id}"

        (record,) = self.both([curious], [[Ask("curious", {"word": "w"}, "c9")]])
        assert (record["input"], record["output"]) == ({"word": "w"}, "w c9")

    def test_a_call_that_a_hook_refuses_leaves_a_rejected_record(self) -> None:
        """``before_call`` may cancel a call: it was refused for its context."""

        def refuse(tool: Any, call: Any) -> None:
            raise llm.CancelToolCall("not now")

        with self.watched() as records:
            model = _Model(_Script([[Ask("add", {"a": 1})]]))
            assert model.chain("go", tools=[tools.add], before_call=refuse).text() == "done"
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")
        assert record["error"]["message"] == "not now"

    def test_a_method_that_a_toolbox_calls_itself_is_a_child(self) -> None:
        """Another public method of its own toolbox is a tool, too, and has its name for the model."""
        with self.watched() as records:
            self.run_agent([Store(3)], [[Ask("Store_twice", {"n": 10})]])
        child, parent = calls(records)
        assert (child["tool_name"], parent["tool_name"]) == ("Store_limited", "Store_twice")
        assert child["parent_id"] == parent["span_id"]
        assert child["instance_id"] == parent["instance_id"]
        assert (child["output"], parent["output"]) == (3, 6)

    @pytest.mark.parametrize("by", ["class", "instance"])
    def test_a_toolbox_can_be_pointed_at(self, by: str) -> None:
        """By its class or as one object; a direct call of its method is recorded, too."""
        box, other = Store(3), Store(4)
        with self.watched(Store if by == "class" else box) as records:
            self.run_agent([box, tools.add], [[Ask("Store_limited", {"n": 1}, "c1"), Ask("add", {"a": 1})]])
            box.limited(2)
            other.limited(2)
        seen = [(record["tool_name"], record.get("tool_call_id")) for record in calls(records)]
        expected = [("Store_limited", "c1"), ("Store_limited", None)]
        assert seen == expected + [("Store_limited", None)] * (by == "class")

    def test_the_tools_of_a_plugin_are_recorded(self) -> None:
        """A function and a toolbox that a plugin registered, found by their names; registered before and
        after."""

        class Plugin:
            @llm.hookimpl
            def register_tools(self, register: Any) -> None:
                register(tools.add)
                register(Store)

        plugin = Plugin()
        for first in (True, False):
            with contextlib.ExitStack() as stack:
                if first:
                    records = stack.enter_context(self.watched())
                llm.plugins.pm.register(plugin)
                stack.callback(llm.plugins.pm.unregister, plugin)
                found: Any = llm.get_tools()
                if not first:
                    records = stack.enter_context(self.watched())
                asks = [Ask("add", {"a": 1}, "c1"), Ask("Store_limited", {"n": 9}, "c2")]
                self.run_agent([found["add"], found["Store"](3)], [asks])
            assert [(one["tool_name"], one["tool_call_id"], one["output"]) for one in calls(records)] == [
                ("add", "c1", 3), ("Store_limited", "c2", 3),
            ]  # fmt: skip

    def test_what_a_toolbox_offers_is_unchanged(self) -> None:
        """Names, descriptions and schemas for the model; the toolbox's own methods are no tools."""
        plain = [(tool.name, tool.description, tool.input_schema, tool.hash()) for tool in Store().tools()]
        with self.watched() as records:
            offered = list(Store().tools())
            found = [(tool.name, tool.description, tool.input_schema, tool.hash()) for tool in offered]
            assert found == plain
        assert calls(records) == []

    def test_a_tool_made_of_another_holds_the_plain_function(self) -> None:
        """A copy that was made while instrumented is not wrapped after it."""
        import dataclasses

        made = self.make_tool(tools.add)
        with self.watched():
            copied = dataclasses.replace(made, name="plus")
            assert copied.implementation == tools.add
        assert copied.implementation is tools.add
