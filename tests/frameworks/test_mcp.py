"""MCP 1 and 2: a server's tools called by a client, in memory, over stdio and over streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pytest

import toolog
from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("mcp")

V2 = version("mcp").startswith("2.")
if V2:
    from mcp.client.client import Client
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.tools import Tool, ToolManager
else:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef]
    from mcp.server.fastmcp.tools import Tool, ToolManager  # type: ignore[no-redef]
    from mcp.shared.memory import create_connected_server_and_client_session

from mcp.types import CallToolResult, TextContent  # noqa: E402
from pydantic import BaseModel  # noqa: E402

ROOT = Path(__file__).parent.parent.parent


@contextlib.asynccontextmanager
async def connected(server: Any) -> AsyncIterator[Any]:
    """Connect a client to a server in this process; gives what has ``call_tool``."""
    if V2:
        async with Client(server) as client:
            yield client
    else:
        async with create_connected_server_and_client_session(server._mcp_server) as session:
            yield session


def told(result: Any) -> str:
    """Return what a model is told of a result."""
    return str(result.model_dump_json(by_alias=True))


class TestMcp(Contract):
    framework = "mcp"
    keeps_call_id = False
    streams = False  # a call has one answer

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return Tool.from_function(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        server = Server("tests", tools=list(made))
        transcript = []
        async with connected(server) as client:
            for turn in turns:
                asked = [client.call_tool(ask.name, ask.arguments) for ask in turn]
                transcript += [told(result) for result in await asyncio.gather(*asked)]
        return transcript

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        found: list[Any] = []

        async def call() -> None:
            manager = ToolManager(tools=[tool])
            found.append(await manager.call_tool(tool.name, arguments, None))  # type: ignore[arg-type]

        thread = threading.Thread(target=lambda: asyncio.run(call()))
        thread.start()
        thread.join()
        return found[0]

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.parameters, tool.is_async

    def make_configured(self, limit: int) -> Any:
        return Tool.from_function(tools.Toolbox(limit).limited)


async def test_a_result_that_says_it_is_an_error_is_a_failure() -> None:
    """``isError`` of a tool that answers it itself is a failed record with that text."""

    def broken(n: int) -> CallToolResult:
        content: Any = [TextContent(type="text", text="the disk is full")]
        return CallToolResult.model_validate({"content": content, "isError": True})

    contract = TestMcp()
    with contract.watched() as records:
        await contract.run_agent_async([contract.make_tool(broken)], [[Ask("broken", {"n": 1})]])
    (record,) = calls(records)
    assert (record["event"], record["status"]) == ("tool_call_failed", "execution_error")
    assert record["error"]["message"] == "the disk is full"


async def test_a_server_pointed_at_is_recorded_and_another_is_not() -> None:
    """``instrument(server)`` means the tools of that server."""

    def add(a: int, b: int = 2) -> int:
        return a + b

    wanted, other = Server("wanted"), Server("other")
    for server in (wanted, other):
        server.add_tool(add)
    with TestMcp().watched(wanted) as records:
        for server in (other, wanted):
            async with connected(server) as client:
                await client.call_tool("add", {"a": 1})
    (record,) = calls(records)
    assert record["input"] == {"a": 1, "b": 2}


SERVER = '''
import asyncio, json, logging, sys, time

import toolog
from toolog.record import ToolRecord

class ToFile(logging.Handler):
    def emit(self, record):
        if isinstance(record, ToolRecord):
            with open(sys.argv[1], "a") as file:
                file.write(json.dumps(record.document()) + "\\n")

logger = logging.getLogger("toolog.calls")
logger.addHandler(ToFile())
logger.setLevel("INFO")
logger.propagate = False
toolog.instrument("mcp")

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("far")

@server.tool()
def divide(a: int, b: int = 2) -> float:
    """Divide."""
    return a / b

@server.tool()
async def later(a: int) -> int:
    """Give it back, later."""
    await asyncio.sleep(a)
    return a

@server.tool()
def slow(a: int) -> int:
    """Give it back, after the others."""
    time.sleep(0.05)
    return a

if sys.argv[2] == "stdio":
    server.run()
else:
    import socket, uvicorn
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
'''


@contextlib.asynccontextmanager
async def far_session(folder: Path, transport: str) -> AsyncIterator[Any]:
    """Start a server in a process of its own and connect to it."""
    from mcp.client import streamable_http
    from mcp.client.session import ClientSession

    connect: Any = vars(streamable_http).get("streamable_http_client")  # its name was another before
    connect = connect or vars(streamable_http)["streamablehttp_client"]
    script = folder / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    command = [str(script), str(folder / "records"), transport]
    environment = {"PYTHONPATH": str(ROOT), "TOOLOG_AUTOCONFIGURE": "0"}
    if transport == "stdio":
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)
        with (folder / "stderr").open("w") as said:
            async with (
                stdio_client(parameters, errlog=said) as (read, write), ClientSession(read, write) as session,
            ):  # fmt: skip
                await session.initialize()
                yield session
        return
    with (
        (folder / "stderr").open("w") as said,
        subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=said, env=environment, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            port = int(await asyncio.to_thread(process.stdout.readline))
            url = f"http://127.0.0.1:{port}/mcp"
            async with (
                connect(url) as streams,
                ClientSession(streams[0], streams[1]) as session,
            ):
                await session.initialize()
                yield session
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_both_sides_of_a_wire_are_one_trace(transport: str, tmp_path: Path) -> None:
    """The server's record is a child of the client's, with the session's id; each has its side's facts."""
    with TestMcp().watched() as records, toolog.session("order-1001", stage="payment"):
        async with asyncio.timeout(100), far_session(tmp_path, transport) as session:
            good = await session.call_tool("divide", {"a": 6})
            bad = await session.call_tool("divide", {"a": 6, "b": 0})
    assert not (good.is_error if V2 else good.isError)
    assert bad.is_error if V2 else bad.isError
    near_good, near_bad = calls(records)
    lines = (tmp_path / "records").read_text().splitlines()
    far = calls([json.loads(line) for line in lines])
    far_good = only(far, status="success")
    far_bad = only(far, status="execution_error")
    assert near_good["tool_name"] == far_good["tool_name"] == "divide"
    for here, there in ((near_good, far_good), (near_bad, far_bad)):
        assert there["trace_id"] == here["trace_id"]
        assert there["parent_id"] == here["span_id"]
        assert there["depth"] == here["depth"] + 1
        assert there["session_id"] == "order-1001"
        assert there["tags"] == {"stage": "payment"}
    assert far_good["input"] == {"a": 6, "b": 2}
    assert far_good["output"] == 3.0
    assert near_bad["status"] == "execution_error"
    assert far_bad["error"]["type"] == "ZeroDivisionError"


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_parallel_calls_over_a_wire_are_told_apart(transport: str, tmp_path: Path) -> None:
    """Each record of the server is the child of that call of the client's which asked for it; one that is
    given up is told as cancelled, and the others go on; on stderr is nothing of ours."""
    with TestMcp().watched() as records:
        async with asyncio.timeout(100), far_session(tmp_path, transport) as session:
            dropped = asyncio.ensure_future(session.call_tool("later", {"a": 60}))
            await asyncio.gather(*[session.call_tool("slow", {"a": n}) for n in range(3)])
            dropped.cancel()
            with pytest.raises(asyncio.CancelledError):
                await dropped
            await asyncio.gather(*[session.call_tool("later", {"a": 0}) for _ in range(2)])
    near = {record["span_id"]: record for record in calls(records)}
    given_up = only(records, status="cancelled")
    assert (given_up["event"], given_up["input"]) == ("tool_call_cancelled", {"a": 60})
    lines = (tmp_path / "records").read_text().splitlines()
    far = calls([json.loads(line) for line in lines])
    assert len(near) == 6
    assert {one["parent_id"] for one in far if one["status"] == "success"} == set(near) - {
        given_up["span_id"]
    }
    assert {one["status"] for one in far if one["parent_id"] == given_up["span_id"]} <= {"cancelled"}
    for record in (one for one in far if one["status"] == "success"):
        parent = near[record["parent_id"]]
        assert (record["tool_name"], record["input"]) == (parent["tool_name"], parent["input"])
        assert record["output"] == record["input"]["a"]
    assert not re.search(r"(?m)^toolog|toolog[/\\]instrumentation", (tmp_path / "stderr").read_text())


async def test_the_callers_own_meta_is_sent_and_left_as_it_is() -> None:
    """Our context is put beside it, in a dict of our own."""
    seen: list[Any] = []
    server = Server("tests")
    if V2:
        from mcp.server.mcpserver import Context
    else:
        from mcp.server.fastmcp import Context  # type: ignore[assignment,no-redef]

    async def look(n: int, ctx: Context) -> int:  # type: ignore[type-arg]
        meta = ctx.request_context.meta
        seen.append(dict(meta) if isinstance(meta, dict) else meta.model_dump())
        return n

    look.__annotations__["ctx"] = Context
    look.__annotations__["n"] = int
    server.add_tool(look)
    mine = {"tenant": "t-1"}
    with TestMcp().watched() as records:
        async with connected(server) as client:
            await client.call_tool("look", {"n": 1}, meta=mine)
    (record,) = calls(records)
    assert mine == {"tenant": "t-1"}
    assert seen[0]["tenant"] == "t-1"
    assert record["span_id"] in seen[0]["traceparent"]
    assert record["input"] == {"n": 1}


async def test_a_request_that_takes_too_long_is_a_timeout() -> None:
    """The client's own time limit is told by an error code."""
    from datetime import timedelta

    server = Server("tests")

    async def sleep(n: int) -> int:
        await asyncio.sleep(60)
        return n

    sleep.__annotations__["n"] = int
    server.add_tool(sleep)
    limit: Any = 0.05 if V2 else timedelta(seconds=0.05)
    with TestMcp().watched() as records:
        async with connected(server) as client:
            with pytest.raises(Exception, match=r"(?i)timed out"):
                await client.call_tool("sleep", {"n": 1}, read_timeout_seconds=limit)
    (record,) = calls(records)
    assert (record["event"], record["status"]) == ("tool_call_failed", "timeout")


async def test_a_far_servers_refusals_are_told_from_failures(tmp_path: Path) -> None:
    """A client sees only text: what the SDK says of unknown tools and arguments that do not fit is known."""
    with TestMcp().watched() as records:
        async with asyncio.timeout(100), far_session(tmp_path, "stdio") as session:
            await session.call_tool("multiply", {"a": 6})
            await session.call_tool("divide", {"a": "six"})
            await session.call_tool("divide", {"a": 6, "b": 0})
    seen = [(record["event"], record["status"]) for record in calls(records)]
    assert seen == [
        ("tool_call_rejected", "unknown_tool"), ("tool_call_rejected", "validation_error"),
        ("tool_call_failed", "execution_error"),
    ]  # fmt: skip


async def test_a_group_of_sessions_calls_a_tool_by_its_own_name(tmp_path: Path) -> None:
    """The model knows the group's name for a tool; the session's call is the same one."""
    from mcp.client.session_group import ClientSessionGroup
    from mcp.client.stdio import StdioServerParameters

    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    command = [str(script), str(tmp_path / "records"), "stdio"]
    environment = {"PYTHONPATH": str(ROOT), "TOOLOG_AUTOCONFIGURE": "0"}
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)
    with TestMcp().watched() as records:
        async with asyncio.timeout(100):
            async with ClientSessionGroup(component_name_hook=lambda name, _: f"far_{name}") as group:
                await group.connect_to_server(parameters)
                await group.call_tool("far_divide", {"a": 6})
    (record,) = calls(records)
    assert (record["tool_name"], record["input"], record["status"]) == ("far_divide", {"a": 6}, "success")


@pytest.mark.skipif(not V2, reason="mcp 1 has no parameters that ask")
@pytest.mark.parametrize("accepts", [True, False])
async def test_a_parameter_that_asks_a_person_is_no_input(accepts: bool) -> None:
    """One record, however many rounds it took; a person who declines refuses the call."""
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.resolve import Elicit, Resolve
    from mcp.types import ElicitResult

    async def ask(ctx: Context) -> Any:
        return Elicit("Who?", Person)

    async def greet(n: int, who: Any) -> str:
        return f"{who.name} {n}"

    ask.__annotations__["ctx"] = Context
    greet.__annotations__.update(n=int, who=Annotated[Person, Resolve(ask)])
    server = Server("tests")
    server.add_tool(greet)

    async def answer(context: Any, params: Any) -> Any:
        return (
            ElicitResult(action="accept", content={"name": "Ann"})
            if accepts
            else ElicitResult(action="decline")
        )

    with TestMcp().watched() as records:
        async with Client(server, elicitation_callback=answer) as client:
            await client.call_tool("greet", {"n": 1})
    (record,) = calls(records)
    assert (record["tool_name"], record["input"]) == ("greet", {"n": 1})
    if accepts:
        assert (record["status"], record["output"]) == ("success", "Ann 1")
    else:
        assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")


class Person(BaseModel):
    """What a person is asked for."""

    name: str
