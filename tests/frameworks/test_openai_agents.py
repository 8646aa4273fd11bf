"""OpenAI Agents SDK: function tools in its own runner, driven by a scripted model."""

from __future__ import annotations

import asyncio
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
from agents.tool_context import ToolContext  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

agents.set_tracing_disabled(True)


class Scripted(agents.Model):
    """A model that asks for what the script says, and keeps what it is told."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.told: list[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        self.told.append(json.dumps(input, default=str, sort_keys=True))
        number = len(self.told)
        if self.turns:
            output: list[Any] = [
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
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


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

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        context = ToolContext(None, tool_name=tool.name, tool_call_id="inner", tool_arguments="")
        return asyncio.run(tool.on_invoke_tool(context, json.dumps(arguments)))

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
