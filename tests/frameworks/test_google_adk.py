"""Google's ADK: function tools in its own runner, driven by a scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from types import SimpleNamespace
from typing import Any

from tests.frameworks.contract import Contract, Transcript, Turn, need

need("google.adk.runners")

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import BaseTool, FunctionTool  # noqa: E402
from google.genai import types  # noqa: E402


class Scripted(BaseLlm):
    """A model that asks for what the script says, and keeps what it is told."""

    turns: list[Any] = []
    told: list[str] = []

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for part in llm_request.contents[-1].parts:
            self.told.append(json.dumps(part.model_dump(exclude_none=True), default=str))
        if self.turns:
            parts = [
                types.Part(
                    function_call=types.FunctionCall(id=ask.call_id, name=ask.name, args=ask.arguments)
                )
                for ask in self.turns.pop(0)
            ]
        else:
            parts = [types.Part(text="done")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Limited(BaseTool):
    """A tool of a class with a setting."""

    def __init__(self, limit: int) -> None:
        super().__init__(name="limited", description="Return a number within the limit.")
        self.limit = limit

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(name="limited", description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return min(args["n"], self.limit)


class TestGoogleAdk(Contract):
    framework = "google-adk"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return FunctionTool(function)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        model = Scripted(model="scripted", turns=list(turns))
        runner = InMemoryRunner(agent=LlmAgent(name="a", model=model, tools=list(made)), app_name="tests")
        session = await runner.session_service.create_session(app_name="tests", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        answer = ""
        try:
            async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                for part in (event.content.parts or ()) if event.content else ():
                    answer = part.text or answer
        except Exception as error:  # what a tool raises ends the run
            answer = f"{type(error).__name__}: {error}"
        return [*model.told, answer]

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        found: list[Any] = []
        context: Any = SimpleNamespace(function_call_id="inner", tool_confirmation=None)

        def run() -> None:
            found.append(asyncio.run(tool.run_async(args=arguments, tool_context=context)))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return found[0]

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)
