"""DSPy: its agents with a scripted language model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("dspy")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import dspy  # noqa: E402
from openai.types.chat import ChatCompletion  # noqa: E402

NEW = hasattr(dspy, "ReActV2")
"""Whether there is the agent that knows ids and several calls of one turn."""


def _reply(**fields: Any) -> str:
    """Return a reply as DSPy reads it: a text with a heading for each field."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return (
        "\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in texts.items())
        + "\n\n[[ ## completed ## ]]"
    )


class _Model(dspy.BaseLM):
    """A language model that says what the script says, and keeps what it was told."""

    def __init__(self, replies: list[str]) -> None:
        super().__init__(model="scripted", cache=False)
        self.replies = list(replies)
        self.told: Transcript = []

    def forward(self, prompt: Any = None, messages: Any = None, **options: Any) -> Any:
        self.told.append(json.dumps(messages, sort_keys=True))
        message = {"role": "assistant", "content": self.replies.pop(0)}
        return ChatCompletion.model_validate(
            {
                "id": "r1", "object": "chat.completion", "created": 1, "model": "scripted",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )  # fmt: skip

    async def aforward(self, prompt: Any = None, messages: Any = None, **options: Any) -> Any:
        return self.forward(prompt, messages, **options)


class Limited:
    """A tool with a setting."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def limited(self, n: int) -> int:
        """Return a number within the limit."""
        return min(n, self.limit)


@pytest.mark.filterwarnings("ignore:Implementing custom LMs:DeprecationWarning")
class TestDspy(Contract):
    framework = "dspy"
    keeps_call_id = NEW
    refuses_unknown = NEW
    options: ClassVar[dict[str, Any]] = {"exclude": ["finish", "submit"]}

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return dspy.Tool(function, **options)

    def _script(self, turns: Sequence[Turn]) -> Iterator[str]:
        if NEW:
            for turn in turns:
                asked = [{"id": ask.call_id, "name": ask.name, "args": ask.arguments} for ask in turn]
                yield _reply(next_thought="so", tool_calls={"tool_calls": asked})
            end = {"id": "end", "name": "submit", "args": {"answer": "done"}}
            yield _reply(next_thought="so", tool_calls={"tool_calls": [end]})
            return
        for ask in (ask for turn in turns for ask in turn):
            yield _reply(next_thought="so", next_tool_name=ask.name, next_tool_args=ask.arguments)
        yield _reply(next_thought="so", next_tool_name="finish", next_tool_args={})
        yield _reply(reasoning="so", answer="done")

    def _agent(self, made: Sequence[Any]) -> Any:
        kind = dspy.ReActV2 if NEW else dspy.ReAct
        return kind("question -> answer", tools=list(made))

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(list(self._script(turns)))
        with dspy.context(lm=model, adapter=dspy.ChatAdapter(), allow_tool_async_sync_conversion=True):
            return [*model.told, self._agent(made)(question="go").answer, *model.told]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(list(self._script(turns)))
        with dspy.context(lm=model, adapter=dspy.ChatAdapter()):
            return [(await self._agent(made).acall(question="go")).answer, *model.told]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def stream() -> Transcript:
            model = _Model(list(self._script(turns)))
            with dspy.context(lm=model, adapter=dspy.ChatAdapter()):
                pieces = dspy.streamify(self._agent(made))(question="go")
                return [*[str(piece) async for piece in pieces], *model.told]

        return asyncio.run(stream())

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return self._agent(made)

    def talk(self, agent: Any) -> str:
        return self._ask(agent)

    def _ask(self, agent: Any) -> str:
        model = _Model(list(self._script([[Ask("add", {"a": 1})]])))
        with dspy.context(lm=model, adapter=dspy.ChatAdapter(), allow_tool_async_sync_conversion=True):
            return str(agent(question="go").answer)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.desc, tool.args

    def make_configured(self, limit: int) -> Any:
        return dspy.Tool(Limited(limit).limited)

    def test_arguments_that_do_not_fit_the_function_leave_a_rejected_record(self) -> None:
        """What DSPy refuses, and what the function itself does before its code runs."""
        for wrong in ({"wrong": 1}, {}):
            (record,) = self.both([tools.add], [[Ask("add", wrong, "c1")]])
            assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
            assert record["input"] == wrong
            assert record["error"]["type"] in ("ValueError", "TypeError")

    def test_an_async_run_calls_the_same_tools(self) -> None:
        """Sync and async ones, with their ids."""
        asks = [Ask("add", {"a": 1}, "c1"), Ask("add_later", {"a": 1}, "c2"), Ask("add", {"a": 1}, "c3")]
        made = [self.make_tool(tools.add), self.make_tool(tools.add_later)]
        plain = asyncio.run(self.run_agent_async(made, [asks]))
        with self.watched() as records:
            assert asyncio.run(self.run_agent_async(made, [asks])) == plain
        assert [record["tool_name"] for record in calls(records)] == ["add", "add_later", "add"]
        if NEW:
            assert [record["tool_call_id"] for record in calls(records)] == ["c1", "c2", "c3"]

    @pytest.mark.skipif(not NEW, reason="the agent knows no ids")
    def test_a_tool_that_calls_its_like_takes_no_other_requests_id(self) -> None:
        """An inner call of the same tool with the same arguments answers no request."""
        inner = self.make_tool(tools.add)
        tools.inner_call[:] = [lambda a: inner(a=1)]
        made = [inner, self.make_tool(tools.outer)]
        with self.watched() as records:
            self.run_agent(made, [[Ask("outer", {"a": 1}, "c1"), Ask("add", {"a": 1}, "c2")]])
        seen = [
            (record["tool_name"], record["depth"], record.get("tool_call_id")) for record in calls(records)
        ]
        assert seen == [("add", 1, None), ("outer", 0, "c1"), ("add", 0, "c2")]

    def test_the_tool_that_ends_a_run_is_one_too(self) -> None:
        """The agent brings it along, and the model calls it."""
        with self.watched() as records:
            pass
        import toolog
        from toolog.testing import capture

        with toolog.instrument("dspy"), capture("INFO") as records:
            self.run_agent([self.make_tool(tools.add)], [[Ask("add", {"a": 1}, "c1")]])
        assert [record["tool_name"] for record in calls(records)] == ["add", "submit" if NEW else "finish"]

    def test_a_tool_called_in_code_is_recorded(self) -> None:
        """By ``__call__`` and by ``acall``, without an id."""
        made = self.make_tool(tools.add)
        with self.watched() as records:
            assert made(a=1) == 3
            assert asyncio.run(made.acall(a=2)) == 4
        assert [(record["input"], record["output"]) for record in calls(records)] == [
            ({"a": 1, "b": 2}, 3), ({"a": 2, "b": 2}, 4),
        ]  # fmt: skip
        assert not any(record.get("tool_call_id") for record in calls(records))

    def test_a_tool_class_may_be_derived_meanwhile(self) -> None:
        """The field that is hooked is one that only the objects have."""
        with self.watched() as records:

            class Mine(dspy.Tool):
                func: Callable[..., Any]

            assert Mine(tools.add)(a=1) == 3
            assert not hasattr(dspy.Tool, "func")
        assert [record["tool_name"] for record in calls(records)] == ["add"]
        assert Mine.model_fields["func"].is_required()
