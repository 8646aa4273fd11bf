"""FastMCP 3 and 4: its server's tools called by its own client, in memory."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("fastmcp")

from fastmcp import Client, Context, FastMCP  # noqa: E402
from fastmcp.tools import Tool, ToolResult  # noqa: E402
from fastmcp.tools.tool_transform import ArgTransform, forward  # noqa: E402

FIRST = version("fastmcp").startswith("3.")
"""Whether this is the version that shows no raw result of a transforming function."""


class TestFastmcp(Contract):
    framework = "fastmcp"
    keeps_call_id = False
    streams = False  # a call has one answer

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return Tool.from_function(function, **options)

    def make_server(self, made: Sequence[Any]) -> Any:
        server: Any = FastMCP("tests")
        for one in made:
            server.add_tool(one)
        return server

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return await self.ask(self.make_server(made), turns)

    async def ask(self, server: Any, turns: Sequence[Turn]) -> Transcript:
        """Call the server's tools and return what the model is told."""
        transcript = []
        async with Client(server) as client:
            for turn in turns:
                asked = [client.call_tool_mcp(ask.name, ask.arguments) for ask in turn]
                transcript += [
                    result.model_dump_json(by_alias=True) for result in await asyncio.gather(*asked)
                ]
        return transcript

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(asyncio.run(tool.run(arguments))))
        thread.start()
        thread.join()
        return found[0].structured_content["result"]

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.parameters

    def make_configured(self, limit: int) -> Any:
        return Tool.from_function(tools.Toolbox(limit).limited)


async def test_what_is_injected_is_left_out() -> None:
    """The context is no argument of the model's."""

    async def look(n: int, ctx: Context, m: int = 2) -> int:
        return n + m

    look.__annotations__.update(n=int, ctx=Context, m=int)
    contract = TestFastmcp()
    with contract.watched() as records:
        await contract.run_agent_async([contract.make_tool(look)], [[Ask("look", {"n": 1})]])
    (record,) = calls(records)
    assert record["input"] == {"n": 1, "m": 2}
    assert record["output"] == 3


async def test_a_mounted_servers_tool_is_one_record() -> None:
    """The name is the one that the client used; the facts are those of the function."""
    contract = TestFastmcp()

    def add(a: int, b: int = 2) -> int:
        return a + b

    add.__annotations__.update(a=int, b=int)
    inner: Any = FastMCP("inner")
    inner.add_tool(Tool.from_function(add))
    outer: Any = FastMCP("outer")
    outer.mount(inner, "sums")
    with contract.watched() as records:
        await contract.ask(outer, [[Ask("sums_add", {"a": 1})]])
    (record,) = calls(records)
    assert record["tool_name"] == "sums_add"
    assert (record["input"], record["output"]) == ({"a": 1, "b": 2}, 3)


async def test_instrumenting_the_sdk_as_well_changes_nothing() -> None:
    """Both tables see the same layers; a call is still one record, whichever is undone first."""
    import toolog

    contract = TestFastmcp()
    sdk = toolog.instrument("mcp")
    with contract.watched() as records:
        await contract.run_agent_async([contract.make_tool(len_of)], [[Ask("len_of", {"text": "abc"})]])
        sdk.undo()
        await contract.run_agent_async([contract.make_tool(len_of)], [[Ask("len_of", {"text": "abcd"})]])
    assert [record["output"] for record in calls(records)] == [3, 4]


def len_of(text: str) -> int:
    """Return the length of a text."""
    return len(text)


async def test_a_tool_that_renames_anothers_arguments_is_one_record() -> None:
    """FastMCP hands the call on to the tool that was transformed: one record under the new name, with what
    the function gets; arguments that do not fit are the new tool's refusal."""
    contract = TestFastmcp()
    base = Tool.from_function(tools.add)
    arguments = {"a": ArgTransform(name="x"), "b": ArgTransform(hide=True, default=10)}
    plus = Tool.from_tool(base, name="plus", transform_args=arguments)
    again = Tool.from_tool(plus, name="again")
    asked = [[Ask("plus", {"x": 1}), Ask("again", {"x": 2})], [Ask("plus", {"x": "q"})], [Ask("plus", {})]]
    plain = await contract.run_agent_async([plus, again], asked)
    with contract.watched() as records:
        assert await contract.run_agent_async([plus, again], asked) == plain
    *good, misfit, missing = calls(records)
    assert sorted((one["tool_name"], one["input"], one["output"], one["depth"]) for one in good) == [
        ("again", {"a": 2, "b": 10}, 12, 0), ("plus", {"a": 1, "b": 10}, 11, 0),
    ]  # fmt: skip
    for refused, given in ((misfit, {"x": "q"}), (missing, {})):
        assert (refused["tool_name"], refused["status"]) == ("plus", "validation_error")
        assert refused["input"] == given


@pytest.mark.parametrize("name", ["twice", "add"])
async def test_a_transform_with_a_function_of_its_own_is_the_parent_of_what_it_calls(name: str) -> None:
    """Its function is a tool's; each call of the tool behind it is a child, under the same name, too."""

    async def twice(a: int) -> int:
        one, two = await forward(a=a), await forward(a=a + 1)
        return int(one.structured_content["result"] + two.structured_content["result"])

    twice.__annotations__.update(a=int)
    hidden = {"b": ArgTransform(hide=True, default=10)}
    made = Tool.from_tool(Tool.from_function(tools.add), name=name, transform_fn=twice, transform_args=hidden)
    contract = TestFastmcp()
    with contract.watched() as records:
        await contract.run_agent_async([made], [[Ask(name, {"a": 1})]])
    first, second, parent = calls(records)
    assert (parent["tool_name"], parent["input"]) == (name, {"a": 1})
    assert parent["output"] == 23 or (FIRST and "23" in json.dumps(parent["output"]))
    assert (first["output"], second["output"]) == (11, 12)
    assert first["parent_id"] == second["parent_id"] == parent["span_id"]


class Limited(Tool):
    """A tool class of a user's own, with a setting, that runs what it is."""

    limit: int = 3

    async def run(self, arguments: dict[str, Any]) -> Any:
        if arguments["n"] == 13:
            raise ValueError("unlucky")
        return ToolResult(content=str(min(arguments["n"], self.limit)))


async def test_a_tool_class_that_runs_by_itself_is_one_record_with_its_settings() -> None:
    """Its input is what the model gave, its error the class's own, and its settings are the instance's."""
    made = Limited(name="limited", description="d", parameters={"type": "object"}, limit=4)
    contract = TestFastmcp()
    with contract.watched() as records:
        told = await contract.run_agent_async(
            [made], [[Ask("limited", {"n": 9})], [Ask("limited", {"n": 13})]]
        )
    succeeded, failed = calls(records)
    assert '"4"' in told[0]
    assert "unlucky" in told[1]
    assert (succeeded["tool_name"], succeeded["input"]) == ("limited", {"n": 9})
    assert failed["error"]["type"] == "ValueError"
    (instance,) = (record for record in records if record["event"] == "tool_instance")
    assert instance["config"]["limit"] == 4
    assert succeeded["instance_id"] == failed["instance_id"] == instance["instance_id"]


async def test_a_tool_that_the_server_gives_up_in_time_says_so() -> None:
    """The error is the server's, which names the limit, not the cancellation that the tool got."""
    server: Any = FastMCP("tests")
    server.tool(tools.wait, timeout=0.05)
    contract = TestFastmcp()
    with contract.watched() as records:
        await contract.ask(server, [[Ask("wait", {"seconds": 60.0})]])
    (record,) = calls(records)
    assert record["status"] == "timeout"
    assert "timed out after" in record["error"]["message"]
