"""LangChain: its tools, langgraph's ToolNode, and an agent of both, driven by a scripted chat model."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

import toolog
from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from tests.instrumentation.tooling import package
from toolog.testing import find

need("langchain_core", "langgraph.prebuilt")

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.runnables import RunnableConfig, RunnableLambda  # noqa: E402
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402

needs_middleware = pytest.mark.skipif(
    "wrap_tool_call" not in inspect.signature(ToolNode.__init__).parameters,
    reason="this version has no middleware of tools",
)


class Limited(BaseTool):
    """A tool of a class."""

    name: str = "limited"
    description: str = "Return a number within the limit."
    limit: int = 5

    def _run(self, n: int, run_manager: Any = None) -> int:
        return min(n, self.limit)


class TestLangchain(Contract):
    framework = "langchain"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        if asyncio.iscoroutinefunction(function):
            return StructuredTool.from_function(coroutine=function, **options)
        return StructuredTool.from_function(function, **options)

    def _graph(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        messages = [
            AIMessage(
                content="",
                id=f"ai-{number}",
                tool_calls=[
                    {"name": ask.name, "args": ask.arguments, "id": ask.call_id, "type": "tool_call"}
                    for ask in turn
                ],
            )
            for number, turn in enumerate(turns)
        ]
        model = GenericFakeChatModel(messages=iter([*messages, AIMessage(content="done", id="ai-done")]))
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", ToolNode(made, handle_tool_errors=True))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
        graph.add_edge("tools", "model")
        return graph.compile()

    def _start(self) -> dict[str, Any]:
        return {"messages": [HumanMessage(content="go", id="human")]}

    def _transcript(self, state: dict[str, Any]) -> Transcript:
        return [
            f"{message.type} {message.content} {getattr(message, 'status', '')}"
            for message in state["messages"]
        ]

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        if any(getattr(one, "coroutine", None) is not None for one in made):
            return asyncio.run(self.run_agent_async(made, turns))
        return self._transcript(self._graph(made, turns).invoke(self._start()))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return self._transcript(await self._graph(made, turns).ainvoke(self._start()))

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        pieces = self._graph(made, turns).stream(self._start(), stream_mode=["updates", "values"])
        return [f"{mode} {list(piece)}" for mode, piece in pieces]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return self._graph(made, turns)

    def talk(self, agent: Any) -> str:
        return str(self._transcript(agent.invoke(self._start()))[-1])

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.invoke(arguments)

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.tool_call_schema.model_json_schema()

    def make_configured(self, limit: int) -> Any:
        return Limited(limit=limit)

    def copy_tool(self, tool: Any) -> Any:
        return tool.model_copy(deep=True)


def test_a_module_of_tools_goes_by_the_adapter_without_being_told(tmp_path: Path) -> None:
    """Decorated functions, objects in a list and subclasses, each by the name that the model knows."""
    source = """
        from langchain_core.tools import BaseTool, StructuredTool, tool

        @tool("find-city")
        def find_city(name: str) -> str:
            "Find a city."
            return name.upper()

        class Reverse(BaseTool):
            name: str = "reverse"
            description: str = "Reverse a text."

            def _run(self, text: str) -> str:
                return text[::-1]

        def double(n: int) -> int:
            "Double a number."
            return 2 * n

        TOOLS = [StructuredTool.from_function(double, name="twice")]
        """
    with package(tmp_path, "citytools", {"__init__.py": source}) as module:
        outside = StructuredTool.from_function(tools.add)
        with TestLangchain().watched(module) as records:
            assert module.find_city.invoke({"name": "Bern"}) == "BERN"
            assert module.Reverse().invoke({"text": "abc"}) == "cba"
            assert module.TOOLS[0].invoke({"n": 4}) == 8
            assert module.double(5) == 10
            outside.invoke({"a": 1})
    names = [record["tool_name"] for record in calls(records)]
    assert names == ["find-city", "reverse", "twice", "double"]


def test_what_langgraph_injects_is_left_out_of_the_input() -> None:
    """State, the call's id and the config are not the model's arguments."""

    def look(
        n: int,
        config: RunnableConfig,
        state: Annotated[dict, InjectedState],  # type: ignore[type-arg]
        call: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Look."""
        return f"{n} {call} {len(state['messages'])}"

    look.__annotations__.update(
        n=int, config=RunnableConfig, state=Annotated[dict, InjectedState],
        call=Annotated[str, InjectedToolCallId],
    )  # fmt: skip
    contract = TestLangchain()
    with contract.watched() as records:
        contract.run_agent([contract.make_tool(look)], [[Ask("look", {"n": 1}, "c-9")]])
    (record,) = calls(records)
    assert record["input"] == {"n": 1}
    assert record["output"] == "1 c-9 2"


def test_a_stream_that_a_tool_returned_is_recorded_with_its_items() -> None:
    """The caller gets it lazily, and the record ends with it."""
    tool = StructuredTool.from_function(tools.count_up)
    with TestLangchain().watched() as records:
        stream = tool.invoke({"n": 3})
        assert calls(records) == []
        assert list(stream) == [0, 1, 2]
    (record,) = calls(records)
    assert (record["status"], record["output"]) == ("success", [0, 1, 2])
    assert record["input"] == {"n": 3}


@pytest.mark.parametrize("later", [False, True])
def test_an_exception_that_the_tool_handles_into_text_is_a_failure(later: bool) -> None:
    """``handle_tool_error`` answers with a text; the record has the ToolException."""

    def refuse(n: int) -> str:
        raise ToolException(f"not {n}")

    refuse.__annotations__["n"] = int
    tool = StructuredTool.from_function(refuse, description="Refuse.", handle_tool_error=True)
    with TestLangchain().watched() as records:
        said = asyncio.run(tool.ainvoke({"n": 1})) if later else tool.invoke({"n": 1})
    assert said == "not 1"
    (record,) = calls(records)
    assert record["event"] == "tool_call_failed"
    assert record["error"]["type"] == "langchain_core.tools.base.ToolException"


def test_toolog_run_needs_no_word_about_the_framework(tmp_path: Path) -> None:
    """A program that nobody configured: its tool's calls are in the store, and its output is its own."""
    (tmp_path / "app.py").write_text(
        "from langchain_core.tools import tool\n"
        "@tool\n"
        "def add(a: int, b: int = 2) -> int:\n"
        '    "Add."\n'
        "    return a + b\n"
        'print(add.invoke({"a": 1}))\n'
    )
    run = [sys.executable, "-c", "from toolog.cli import main; raise SystemExit(main())"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLOG_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    options: Any = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 110}
    program = subprocess.run([*run, "run", "app.py"], **options)
    assert (program.returncode, program.stdout) == (0, "3\n"), program.stderr
    found = subprocess.run([*run, "query", "--tool", "add", "--json"], **options)
    record = json.loads(found.stdout.splitlines()[0])
    assert (record["tool_name"], record["input"], record["output"]) == ("add", {"a": 1, "b": 2}, 3)


def ask_node(node: ToolNode, *asks: Ask, **options: Any) -> Any:
    """Run a graph of one node, asked for these calls; ``options`` are the compiled graph's."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    asked: Any = [
        {"name": one.name, "args": one.arguments, "id": one.call_id, "type": "tool_call"} for one in asks
    ]
    message = AIMessage(content="", id="ai", tool_calls=asked)
    config: Any = {"configurable": {"thread_id": "t-1"}}
    return graph.compile(**options), {"messages": [message]}, config


@needs_middleware
def test_another_tool_in_place_of_the_one_that_was_asked_for_is_one_record() -> None:
    """A middleware may answer with another tool, or one that the node has not: the name is the model's, the
    rest is told of the tool that ran; what does not fit that one is its refusal."""

    def subtract(a: int, b: int = 2) -> int:
        return a - b

    subtract.__annotations__.update(a=int, b=int)
    made = StructuredTool.from_function(tools.add)
    other = StructuredTool.from_function(subtract, description="Subtract.")
    node = ToolNode([made], wrap_tool_call=lambda asked, run: run(asked.override(tool=other)))
    asks = [Ask("add", {"a": 1}, "c-1"), Ask("unheard", {"a": 7}, "c-2"), Ask("unheard", {"a": "x"}, "c-3")]
    with TestLangchain().watched() as records:
        for one in asks:
            graph, start, _ = ask_node(node, one)
            graph.invoke(start)
    first, second, refused = calls(records)
    assert (first["tool_name"], first["output"], first["tool_call_id"]) == ("add", -1, "c-1")
    assert (second["tool_name"], second["input"], second["output"]) == ("unheard", {"a": 7, "b": 2}, 5)
    assert (refused["tool_name"], refused["status"]) == ("unheard", "validation_error")
    kinds = find(records, event="tool_instance")
    assert [one["config"]["name"] for one in kinds if one["instance_id"] == first["instance_id"]] == [
        "subtract"
    ]


@needs_middleware
@pytest.mark.parametrize("raises", [False, True])
def test_a_call_that_a_middleware_denies_is_rejected_for_its_context(raises: bool) -> None:
    """Its arguments were not looked at; whether it answers an error or raises one."""

    def deny(asked: Any, run: Any) -> Any:
        if raises:
            raise PermissionError("not today")
        return ToolMessage("not today", tool_call_id=asked.tool_call["id"], name="add", status="error")

    node = ToolNode([StructuredTool.from_function(tools.add)], wrap_tool_call=deny, handle_tool_errors=True)
    graph, start, _ = ask_node(node, Ask("add", {"a": 1}, "c-1"))
    with TestLangchain().watched() as records:
        graph.invoke(start)
    (record,) = calls(records)
    assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")
    assert "not today" in record["error"]["message"]


def test_a_tool_that_asks_a_person_is_cancelled_and_called_anew() -> None:
    """``interrupt`` is no failure: the first record says why it stopped, the second what came of it."""

    def ask(question: str) -> str:
        return f"they said {interrupt(question)}"

    ask.__annotations__["question"] = str
    node = ToolNode([StructuredTool.from_function(ask, description="Ask.")])
    graph, start, config = ask_node(
        node, Ask("ask", {"question": "ok?"}, "c-1"), checkpointer=InMemorySaver()
    )
    with TestLangchain().watched() as records:
        graph.invoke(start, config)
        graph.invoke(Command(resume="yes"), config)
    first, second = calls(records)
    assert (first["event"], first["status"]) == ("tool_call_cancelled", "cancelled")
    assert first["error"]["type"] == "langgraph.errors.GraphInterrupt"
    assert (second["status"], second["output"]) == ("success", "they said yes")
    assert first["tool_call_id"] == second["tool_call_id"] == "c-1"


@pytest.mark.filterwarnings("ignore:This API is in beta")
def test_a_runnable_as_a_tool_has_the_models_names() -> None:
    """LangChain's own function takes whatever it gets; the names are those of the schema."""
    multiply = RunnableLambda(lambda given: given["a"] * given["b"])
    made = multiply.as_tool(name="multiply", description="Multiply.", arg_types={"a": int, "b": int})
    loud = RunnableLambda(_shout).as_tool(name="shout", description="Shout.")
    with TestLangchain().watched() as records:
        assert made.invoke({"a": 3, "b": 4}) == 12
        assert asyncio.run(made.ainvoke({"a": 1, "b": 2})) == 2
        assert loud.invoke("hey") == "HEY"
    assert [(record["tool_name"], record["input"]) for record in calls(records)] == [
        ("multiply", {"a": 3, "b": 4}), ("multiply", {"a": 1, "b": 2}), ("shout", {"tool_input": "hey"}),
    ]  # fmt: skip


def _shout(word: str) -> str:
    return word.upper()


_shout.__annotations__.update(word=str)


def test_a_tool_of_an_mcp_server_is_one_record_under_its_name_here() -> None:
    """The package that makes tools of a server's may put a prefix to their names; the session's call is the
    same call. (It stands on an older SDK than this environment has, so its function is made here.)"""
    mcp_types = pytest.importorskip("mcp.types")
    session = pytest.importorskip("mcp.client.session").ClientSession

    class Session(session):  # type: ignore[misc,valid-type]
        def __init__(self) -> None: ...

        async def call_tool(self, name: str, arguments: Any = None, **options: Any) -> Any:
            content = [{"type": "text", "text": f"{name} {arguments['city']}"}]
            return mcp_types.CallToolResult.model_validate({"content": content})

    def convert(tool: Any, far: Any) -> Any:
        async def call_tool(runtime: Any = None, **arguments: Any) -> str:
            return str((await far.call_tool(tool.name, arguments)).content[0].text)

        call_tool.__module__ = "langchain_mcp_adapters.tools"
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        return StructuredTool(
            name=f"weather_{tool.name}", description="Look.", args_schema=schema, coroutine=call_tool
        )

    made = convert(
        mcp_types.Tool.model_validate({"name": "look", "inputSchema": {"type": "object"}}), Session()
    )
    with toolog.instrument("mcp"), TestLangchain().watched() as records:
        assert asyncio.run(made.ainvoke({"city": "Bern"})) == "look Bern"
    (record,) = calls(records)
    assert (record["tool_name"], record["input"], record["output"]) == (
        "weather_look", {"city": "Bern"}, "look Bern",
    )  # fmt: skip
