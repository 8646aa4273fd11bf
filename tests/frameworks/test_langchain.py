"""LangChain: its tools, langgraph's ToolNode, and an agent of both, driven by a scripted chat model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.frameworks.contract import Contract, Transcript, Turn, need

need("langchain_core", "langgraph.prebuilt")

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage  # noqa: E402
from langchain_core.tools import BaseTool, StructuredTool  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.prebuilt import ToolNode, tools_condition  # noqa: E402


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

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        return tool.invoke(arguments)

    def make_configured(self, limit: int) -> Any:
        return Limited(limit=limit)

    def copy_tool(self, tool: Any) -> Any:
        return tool.model_copy(deep=True)
