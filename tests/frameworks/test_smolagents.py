"""smolagents: tools made by the decorator and by class, in a ToolCallingAgent and in a CodeAgent's code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("smolagents")

from smolagents import CodeAgent, Model, Tool, ToolCallingAgent, tool  # noqa: E402
from smolagents.models import (  # noqa: E402
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)
from smolagents.monitoring import LogLevel, TokenUsage  # noqa: E402


class _Model(Model):
    """A model that says what it is given, a turn each, and keeps what it was told."""

    def __init__(self, turns: Sequence[Turn | str]) -> None:
        super().__init__(model_id="scripted")
        self.turns = list(turns)
        self.told: Transcript = []

    def generate(self, messages: list[ChatMessage], **options: Any) -> ChatMessage:
        self.told.append(str(messages[-1].content))
        turn = self.turns.pop(0) if self.turns else [Ask("final_answer", {"answer": "done"}, "end")]
        if isinstance(turn, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=turn, token_usage=TokenUsage(1, 1))
        asked = [
            ChatMessageToolCall(
                id=ask.call_id,
                type="function",
                function=ChatMessageToolCallFunction(name=ask.name, arguments=ask.arguments),
            )
            for ask in turn
        ]
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", token_usage=TokenUsage(1, 1), tool_calls=asked
        )


class Limited(Tool):
    """A tool of a class."""

    name = "limited"
    description = "Return a number within the limit."
    inputs = {"n": {"type": "integer", "description": "a number"}}
    output_type = "integer"

    def __init__(self, limit: int = 5) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, n: int) -> int:
        return min(n, self.limit)


class Shout(Tool):
    """A tool whose result the agent wraps in a type of its own."""

    name = "shout"
    description = "Say it aloud."
    inputs = {"word": {"type": "string", "description": "what"}}
    output_type = "string"

    def forward(self, word: str) -> str:
        return word.upper()


@pytest.mark.filterwarnings("ignore:Function .* has decorators other than @tool")
class TestSmolagents(Contract):
    framework = "smolagents"
    async_tools = False
    options = {"exclude": "final_answer"}

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        @functools.wraps(function)
        def described(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        names = [name for name in function.__annotations__ if name != "return"]
        arguments = "\n".join(f"    {name}: a value" for name in names)
        described.__doc__ = f"{function.__doc__}\n\nArgs:\n{arguments}\n"
        return tool(described)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns)
        agent = ToolCallingAgent(tools=list(made), model=model, verbosity_level=LogLevel.OFF, max_steps=9)
        answer = agent.run("go")
        return [*model.told, str(answer)]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = _Model(turns)
        agent = ToolCallingAgent(tools=list(made), model=model, verbosity_level=LogLevel.OFF, max_steps=9)
        return [*[type(step).__name__ for step in agent.run("go", stream=True)], *model.told]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return ToolCallingAgent(tools=list(made), model=_Model(turns), verbosity_level=LogLevel.OFF)

    def talk(self, agent: Any) -> str:
        return str(agent.run("go"))

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool(**arguments)

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.inputs, tool.output_type

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_a_result_is_recorded_before_the_agent_wraps_it(self) -> None:
        """A text becomes an AgentText for the agent; the record holds the tool's own."""
        with self.watched() as records:
            self.run_agent([Shout()], [[Ask("shout", {"word": "hey"}, "c5")]])
        (record,) = calls(records)
        assert (record["tool_name"], record["input"], record["output"]) == ("shout", {"word": "hey"}, "HEY")
        assert record["tool_call_id"] == "c5"

    def test_what_a_code_agent_writes_is_recorded_the_same(self) -> None:
        """Tools called by the model's code, by position, by name or with one dict; there is no call id."""
        turns = [
            "<code>\nx = add(1, b=3)\nprint(shout(str(x)))\n</code>",
            "<code>\nshout({'word': 'a'})\nfinal_answer('done')\n</code>",
        ]

        def run() -> Any:
            made = [self.make_tool(tools.add), Shout()]
            agent = CodeAgent(tools=made, model=_Model(turns), verbosity_level=LogLevel.OFF)
            return agent.run("go")

        plain = run()
        with self.watched() as records:
            assert run() == plain
        assert [(record["tool_name"], record["input"], record["output"]) for record in calls(records)] == [
            ("add", {"a": 1, "b": 3}, 4), ("shout", {"word": "4"}, "4"), ("shout", {"word": "a"}, "A"),
        ]  # fmt: skip

    def test_a_managed_agent_is_the_parent_of_its_tools(self) -> None:
        """The model calls it like a tool, so it is one."""
        inside = ToolCallingAgent(
            tools=[Shout()], model=_Model([[Ask("shout", {"word": "in"}, "c8")]]), name="helper",
            description="Helps.", verbosity_level=LogLevel.OFF,
        )  # fmt: skip
        model = _Model([[Ask("helper", {"task": "help"}, "c7")]])
        boss = ToolCallingAgent(tools=[], model=model, managed_agents=[inside], verbosity_level=LogLevel.OFF)
        with self.watched() as records:
            boss.run("go")
        shout, helper = calls(records)
        assert (shout["tool_name"], helper["tool_name"]) == ("shout", "helper")
        assert shout["parent_id"] == helper["span_id"]
        assert (helper["tool_call_id"], helper["input"]["task"]) == ("c7", "help")

    def test_the_same_call_twice_in_a_turn_has_two_ids(self) -> None:
        """Calls without arguments are told apart as well."""

        class Tick(Tool):
            name = "tick"
            description = "Tick."
            inputs: dict[str, Any] = {}
            output_type = "integer"

            def forward(self) -> int:
                return 1

        with self.watched() as records:
            self.run_agent([Tick()], [[Ask("tick", {}, "c1"), Ask("tick", {}, "c2")]])
        assert sorted(record["tool_call_id"] for record in calls(records)) == ["c1", "c2"]

    def test_the_error_behind_a_refusal_is_the_real_one(self) -> None:
        """A ValueError or TypeError of the check, not the agent's text of it."""
        (record,) = self.both([tools.add], [[Ask("add", {})]])
        assert record["status"] == "validation_error"
        assert record["error"]["type"] == "ValueError"


def test_a_tool_that_stands_for_another_has_the_models_names() -> None:
    """A tool of LangChain takes whatever it gets; its inputs name the arguments, also one by position."""
    tools_of = pytest.importorskip("langchain_core.tools")

    def multiply(a: int, b: int = 3) -> int:
        return a * b

    multiply.__annotations__.update(a=int, b=int)
    made = Tool.from_langchain(tools_of.StructuredTool.from_function(multiply, description="Multiply."))
    contract = TestSmolagents()
    with contract.watched() as records:
        assert made(2) == 6
        assert made(a=2, b=6) == 12
        contract.run_agent([made], [[Ask("multiply", {"a": 2, "b": 7}, "c1")]])
    assert [record["input"] for record in calls(records)] == [{"a": 2}, {"a": 2, "b": 6}, {"a": 2, "b": 7}]
    assert calls(records)[-1]["output"] == 14
