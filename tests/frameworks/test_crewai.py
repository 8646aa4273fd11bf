"""CrewAI: an agent with a scripted model, by function calls and by actions in its text, and tools in code."""

from __future__ import annotations

import asyncio
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("crewai")

for _switch in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "OTEL_SDK_DISABLED"):
    os.environ[_switch] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
    from crewai.tools import BaseTool
    from crewai.tools import tool as make
    from crewai.tools.structured_tool import CrewStructuredTool


class _Model(BaseLLM):
    """A model that asks for the tool calls of each turn: by function calls, or one by one in its text."""

    def __init__(self, turns: Sequence[Turn], native: bool = True) -> None:
        super().__init__(model="scripted")
        asks = turns if native else [[ask] for turn in turns for ask in turn]
        self.__dict__["_script"] = [list(turn) for turn in asks]
        self.__dict__["_native"] = native
        self.__dict__["told"] = []

    def supports_function_calling(self) -> bool:
        return bool(self.__dict__["_native"])

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 1_000_000

    def call(self, messages: Any, *_: Any, **options: Any) -> Any:
        self._hear(messages)
        script, native = self.__dict__["_script"], self.__dict__["_native"]
        turn = script.pop(0) if script else None
        if turn is None:
            return "done" if native else "Thought: I know\nFinal Answer: done"
        if not native:
            (ask,) = turn
            return f"Thought: go\nAction: {ask.name}\nAction Input: {json.dumps(ask.arguments)}"
        return [
            {
                "id": ask.call_id,
                "type": "function",
                "function": {"name": ask.name, "arguments": json.dumps(ask.arguments)},
            }
            for ask in turn
        ]

    async def acall(self, messages: Any, *_: Any, **options: Any) -> Any:
        return self.call(messages)

    def _hear(self, messages: Any) -> None:
        told = self.__dict__["told"]
        if self.__dict__["_native"]:
            told[:] = [
                f"{one.get('tool_call_id')} {one['content']}" for one in messages if one["role"] == "tool"
            ]
        else:
            told[:] = [str(one["content"]) for one in messages if "Observation" in str(one["content"])]


class Limited(BaseTool):
    """A tool of a class."""

    name: str = "limited"
    description: str = "Return a number within the limit."
    limit: int = 5

    def _run(self, n: int) -> int:
        return min(n, self.limit)


@pytest.mark.filterwarnings("ignore")
class TestCrewAI(Contract):
    framework = "crewai"
    native = True

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return make(function)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns, self.native)
        answer = self.agent(model, made).kickoff("go").raw
        return [*model.__dict__["told"], answer]

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns, self.native)
        answer = (await self.agent(model, made).kickoff_async("go")).raw
        return [*model.__dict__["told"], answer]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns, self.native)
        task = Task(description="go", expected_output="a number", agent=self.agent(model, made))
        output = Crew(agents=[task.agent], tasks=[task], stream=True).kickoff()
        return [*[str(piece.content) for piece in output], output.result.raw, *model.__dict__["told"]]

    def agent(self, model: Any, made: Sequence[Any], **options: Any) -> Any:
        return Agent(role="helper", goal="help", backstory="none", llm=model, tools=list(made), **options)

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return self.agent(_Model(turns, self.native), made)

    def talk(self, agent: Any) -> str:
        return str(agent.kickoff("go").raw)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.run(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.args_schema.model_json_schema()

    def make_configured(self, limit: int) -> Any:
        return Limited(limit=limit)

    async def wait_long(self) -> None:
        """Wait in code: an agent runs async tools in loops of their own."""
        await self.make_tool(tools.wait).arun(seconds=60.0)

    def test_the_task_of_a_crew_is_recorded_the_same(self) -> None:
        """With the model's call id, where it has one."""
        agent = self.agent(_Model([[Ask("add", {"a": 1}, "c1")]], self.native), [make(tools.add)])
        task = Task(description="go", expected_output="a number", agent=agent)
        with self.watched() as records:
            assert Crew(agents=[agent], tasks=[task]).kickoff().raw == "done"
        self.check_add(only(calls(records), tool_name="add"), "add", "c1")

    def test_the_name_is_the_one_that_the_model_knows(self) -> None:
        """CrewAI makes names fit for models."""
        made = make("Add Two Numbers!")(tools.add)
        with self.watched() as records:
            self.run_agent([made], [[Ask("add_two_numbers", {"a": 1})]])
        assert [record["tool_name"] for record in calls(records)] == ["add_two_numbers"]

    def test_a_structured_tool_in_code_is_recorded(self) -> None:
        """Made of a function, or of a tool."""
        with self.watched() as records:
            assert CrewStructuredTool.from_function(tools.add).invoke({"a": 1}) == 3
            assert Limited(limit=3).to_structured_tool().invoke({"n": 9}) == 3
            assert asyncio.run(CrewStructuredTool.from_function(tools.add_later).ainvoke({"a": 2})) == 4
        assert [(record["tool_name"], record["output"]) for record in calls(records)] == [
            ("add", 3), ("limited", 3), ("add_later", 4),
        ]  # fmt: skip

    def test_a_spent_limit_leaves_a_rejected_record(self) -> None:
        """The tool is not run once more; the record says why."""
        made = make(max_usage_count=1)(tools.add)
        with self.watched() as records:
            made.run(a=1)
            made.run(a=2)
        first, second = calls(records)
        assert (first["status"], second["status"]) == ("success", "context_error")
        assert (second["event"], second["phase"]) == ("tool_call_rejected", "validation")
        assert "usage limit" in second["error"]["message"]

    def test_an_answer_from_the_cache_is_a_record_with_what_the_model_was_told(self) -> None:
        """The tool ran once; the model asked twice."""
        ran = []

        def count(a: int) -> int:
            """Count."""
            ran.append(a)
            return len(ran)

        turns = [[Ask("count", {"a": 1})], [Ask("add", {"a": 1})], [Ask("count", {"a": 1})]]
        agent = self.agent(_Model(turns, self.native), [make(count), make(tools.add)], cache=True)
        task = Task(description="go", expected_output="a number", agent=agent)
        with self.watched() as records:
            Crew(agents=[agent], tasks=[task], cache=True).kickoff()
        first, _, last = calls(records)
        assert (ran, first["output"], last["status"]) == ([1], 1, "success")
        assert last["output"].startswith("1")

    def test_a_call_that_a_hook_blocks_leaves_a_rejected_record(self) -> None:
        """With what the model was told."""

        def never(context: Any) -> bool:
            return False

        register_before_tool_call_hook(never)
        try:
            (record,) = self.both([tools.add], [[Ask("add", {"a": 1}, "c9")]])
        finally:
            unregister_before_tool_call_hook(never)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")
        assert "blocked by hook" in record["error"]["message"]


@pytest.mark.filterwarnings("ignore")
class TestActionsInText(TestCrewAI):
    """An agent whose model knows no function calls: CrewAI reads actions out of its text."""

    native = False
    keeps_call_id = False

    def test_a_tool_that_raises_is_recorded_with_all_attempts(self) -> None:
        """CrewAI runs it again for the same action; that is one record."""
        (record,) = self.both([tools.fail], [[Ask("fail", {"city": "Ys"})]])
        assert record["retry_count"] == len(record["attempts"]) - 1 > 0
        assert {attempt["status"] for attempt in record["attempts"]} == {"execution_error"}

    def test_the_same_action_twice_in_a_row_leaves_a_rejected_record(self) -> None:
        """CrewAI does not run it again, and tells the model so."""
        turn = [Ask("add", {"a": 1})]
        first, second = self.both([tools.add], [turn, turn])
        assert (first["status"], second["event"]) == ("success", "tool_call_rejected")
        assert second["status"] == "context_error"
