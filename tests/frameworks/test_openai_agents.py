"""OpenAI Agents SDK: function tools in its own runner, driven by a scripted model."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need

need("agents")

import agents  # noqa: E402
from agents import Agent, FunctionTool, ModelResponse, Runner, Usage, function_tool  # noqa: E402
from agents.exceptions import ModelBehaviorError, ToolTimeoutError  # noqa: E402
from agents.mcp import MCPServer  # noqa: E402
from agents.run_internal import tool_execution  # noqa: E402
from agents.tool_context import ToolContext  # noqa: E402
from mcp import types as mcp_types  # noqa: E402
from openai.types.responses import (  # noqa: E402
    Response,
    ResponseCompletedEvent,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_function_shell_tool_call import Action  # noqa: E402

agents.set_tracing_disabled(True)


class Scripted(agents.Model):
    """A model that asks for what the script says, and keeps what it is told."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.items: list[Any] = []
        """What it asks for first, as it is."""
        self.told: list[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        return ModelResponse(output=self._answer(input), usage=Usage(), response_id=None)

    def _answer(self, input: Any) -> list[Any]:
        self.told.append(json.dumps(input, default=str, sort_keys=True))
        number = len(self.told)
        output, self.items = self.items, []
        if output:
            return output
        if self.turns:
            output = [
                ResponseFunctionToolCall(
                    type="function_call",
                    name=ask.name,
                    arguments=json.dumps(ask.arguments),
                    call_id=ask.call_id,
                    id=f"f{number}-{place}",
                )
                for place, ask in enumerate(self.turns.pop(0))
            ]
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = [
                ResponseOutputMessage(
                    id=f"m{number}", type="message", role="assistant", status="completed", content=[text]
                )
            ]
        return output

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        fields: dict[str, Any] = {"object": "response", "tool_choice": "auto", "parallel_tool_calls": True}
        response = Response(
            id="r", created_at=0, model="scripted", output=self._answer(input), tools=[], **fields
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


class TestOpenaiAgents(Contract):
    framework = "openai-agents"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return function_tool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = Scripted(turns)
        agent: Agent[Any] = Agent(name="a", model=model, tools=list(made))
        try:
            answer = str((await Runner.run(agent, "go")).final_output)
        except ModelBehaviorError as error:
            answer = f"{type(error).__name__}: {error}"
        return [*model.told, answer]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def stream() -> Transcript:
            model = Scripted(turns)
            agent: Agent[Any] = Agent(name="a", model=model, tools=list(made))
            run = Runner.run_streamed(agent, "go")
            return [*[event.type async for event in run.stream_events()], *model.told, str(run.final_output)]

        return asyncio.run(stream())

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return Agent(name="a", model=Scripted(turns), tools=list(made))

    def talk(self, agent: Any) -> str:
        return str(asyncio.run(Runner.run(agent, "go")).final_output)

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        context = ToolContext(None, tool_name=tool.name, tool_call_id="inner", tool_arguments="")
        return asyncio.run(tool.on_invoke_tool(context, json.dumps(arguments)))

    def describe(self, tool: Any) -> Any:
        return tool.name, tool.description, tool.params_json_schema

    def make_configured(self, limit: int) -> Any:
        return make_limited(limit)


@dataclass
class Limited(FunctionTool):
    """A tool of a class with a setting."""

    limit: int = field(default=0, kw_only=True)


def make_limited(limit: int) -> Limited:
    """Return a tool whose invoker is one's own."""

    async def invoke(context: Any, arguments: str) -> int:
        return min(json.loads(arguments)["n"], made.limit)

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
              "additionalProperties": False}  # fmt: skip
    made = Limited(
        name="limited", description="", params_json_schema=schema, on_invoke_tool=invoke, limit=limit
    )
    return made


@pytest.mark.parametrize("behavior", ["error_as_result", "raise_exception"])
async def test_the_runners_timeout_is_a_timeout(behavior: Any) -> None:
    """Whether the model is told or the run fails: the record says that the tool took too long."""
    made = function_tool(tools.wait, timeout=0.05, timeout_behavior=behavior)
    contract = TestOpenaiAgents()
    with contract.watched() as records:
        try:
            await contract.run_agent_async([made], [[Ask("wait", {"seconds": 60.0})]])
        except ToolTimeoutError:
            assert behavior == "raise_exception"
    (record,) = calls(records)
    assert (record["event"], record["status"]) == ("tool_call_failed", "timeout")
    assert record["error"]["type"] == "agents.exceptions.ToolTimeoutError"


def ask_custom(name: str, text: str, call_id: str) -> Any:
    """Return the model's request for a custom tool."""
    fields: Any = {"type": "custom_tool_call", "id": call_id, "call_id": call_id}
    return ResponseCustomToolCall(name=name, input=text, **fields)


def ask_shell(*commands: str) -> Any:
    """Return the model's request for commands."""
    action = Action(commands=list(commands), timeout_ms=100, max_output_length=None)
    return ResponseFunctionShellToolCall(
        type="shell_call", id="s1", call_id="s1", status="completed", action=action, environment=None
    )


async def run_items(made: Sequence[Any], *items: Any) -> Transcript:
    """Run an agent whose model asks for these items, then is done."""
    model = Scripted([])
    model.items = list(items)
    agent: Agent[Any] = Agent(name="a", model=model, tools=list(made))
    answer = (await Runner.run(agent, "go")).final_output
    return [*model.told, str(answer)]


@pytest.mark.skipif(not hasattr(agents, "CustomTool"), reason="this version has no custom tools")
@pytest.mark.parametrize("fails", [False, True])
async def test_a_custom_tool_is_recorded(fails: bool) -> None:
    """It gets the model's text as it is, under its function's own name; the agent is told the same."""

    async def shout(context: Any, text: str) -> str:
        if fails:
            raise LookupError(f"no {text}")
        return text.upper()

    def make() -> Any:
        return agents.CustomTool(name="shout", description="Shout.", on_invoke_tool=shout)

    asked = ask_custom("shout", "hello", "k1")
    plain = await run_items([make()], asked)
    before = make()
    with TestOpenaiAgents().watched() as records:
        assert await run_items([make()], asked) == plain
        assert await run_items([before], asked) == plain
    assert len(calls(records)) == 2
    for record in calls(records):
        assert (record["tool_name"], record["tool_call_id"]) == ("shout", "k1")
        assert record["input"] == {"text": "hello"}
        if fails:
            assert record["error"]["type"] == "LookupError"
        else:
            assert record["output"] == "HELLO"
    assert before.on_invoke_tool is shout


async def test_a_shell_on_this_machine_is_recorded() -> None:
    """Its input is what the model wants run, its output what came of it."""

    def execute(request: Any) -> str:
        return f"ran {request.data.action.commands}"

    tool = agents.ShellTool(executor=execute)
    plain = await run_items([tool], ask_shell("ls", "pwd"))
    with TestOpenaiAgents().watched() as records:
        assert await run_items([tool], ask_shell("ls", "pwd")) == plain
    (record,) = calls(records)
    assert (record["tool_name"], record["tool_call_id"]) == ("shell", "s1")
    assert record["input"]["commands"] == ["ls", "pwd"]
    assert record["output"] == "ran ['ls', 'pwd']"


@pytest.mark.parametrize("raises", [False, True])
async def test_a_call_that_a_guardrail_refuses_is_rejected(raises: bool) -> None:
    """The tool never ran; the one beside it did, and so does one that the guardrail lets pass."""

    @agents.tool_input_guardrail
    def guard(data: Any) -> Any:
        if "bad" not in data.context.tool_arguments:
            return agents.ToolGuardrailFunctionOutput.allow()
        if raises:
            return agents.ToolGuardrailFunctionOutput.raise_exception()
        return agents.ToolGuardrailFunctionOutput.reject_content("not allowed")

    @function_tool(tool_input_guardrails=[guard])
    def say(word: str) -> str:
        return word

    asks = [Ask("say", {"word": "good"}, "c1"), Ask("say", {"word": "bad"}, "c2")]
    contract = TestOpenaiAgents()
    with contract.watched() as records:
        for ask in asks:
            try:
                await contract.run_agent_async([say], [[ask]])
            except agents.ToolInputGuardrailTripwireTriggered:
                assert raises
    passed, refused = calls(records)
    assert (passed["status"], passed["output"]) == ("success", "good")
    assert (refused["event"], refused["status"]) == ("tool_call_rejected", "context_error")
    assert (refused["tool_call_id"], refused["input"]) == ("c2", {"word": "bad"})
    kind = "agents.exceptions.ToolInputGuardrailTripwireTriggered" if raises else "ToolError"
    assert refused["error"]["type"] == kind


async def test_a_call_that_a_person_refuses_is_rejected() -> None:
    """What waits for approval is not recorded; what is approved is a call, what is refused is rejected."""

    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    model = Scripted([[Ask("pay", {"amount": 1}, "p1"), Ask("pay", {"amount": 2}, "p2")]])
    agent: Agent[Any] = Agent(name="a", model=model, tools=[pay])
    with TestOpenaiAgents().watched() as records:
        waits = await Runner.run(agent, "go")
        assert calls(records) == []
        state = waits.to_state()
        first, second = waits.interruptions
        state.approve(first)
        state.reject(second)
        assert (await Runner.run(agent, state)).final_output == "done"
    found = {record["tool_call_id"]: record for record in calls(records)}
    assert len(calls(records)) == 2
    assert (found["p1"]["status"], found["p1"]["output"]) == ("success", "paid 1")
    assert (found["p2"]["event"], found["p2"]["status"]) == ("tool_call_rejected", "context_error")
    if "tool_call" in inspect.signature(tool_execution.resolve_approval_rejection_message).parameters:
        assert found["p2"]["input"] == {"amount": 2}


async def test_an_error_that_an_mcp_server_answers_is_a_failure() -> None:
    """Though the SDK hands it to the model like any result; called past an agent, too."""

    class Far(MCPServer):
        name = "far"

        async def connect(self) -> None: ...

        async def cleanup(self) -> None: ...

        async def list_tools(self, *args: Any) -> Any:
            return [mcp_types.Tool.model_validate({"name": "look", "inputSchema": {"type": "object"}})]

        async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
            content = [{"type": "text", "text": "the disk is full"}]
            return mcp_types.CallToolResult.model_validate(
                {"content": content, "isError": arguments["n"] > 1}
            )

        async def list_prompts(self) -> Any: ...

        async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...

    server = Far()
    model = Scripted([[Ask("look", {"n": 1}, "c1"), Ask("look", {"n": 2}, "c2")]])
    agent: Agent[Any] = Agent(name="a", model=model, mcp_servers=[server])
    with TestOpenaiAgents().watched() as records:
        await Runner.run(agent, "go")
        await server.call_tool("look", {"n": 3})
    found = {record.get("tool_call_id"): record for record in calls(records)}
    assert len(calls(records)) == 3
    assert found["c1"]["status"] == "success"
    for call_id in ("c2", None):
        assert (found[call_id]["event"], found[call_id]["status"]) == ("tool_call_failed", "execution_error")
        assert found[call_id]["error"]["message"] == "the disk is full"
