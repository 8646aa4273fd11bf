"""AG2: an agent with a scripted model client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.frameworks.contract import Ask, Contract, Transcript, Turn, need

need("ag2.tools")

from ag2 import Agent, Context  # noqa: E402
from ag2.events import ToolCallEvent, ToolResultsEvent  # noqa: E402
from ag2.testing import TestClient, TestConfig  # noqa: E402
from ag2.tools import tool  # noqa: E402

TestClient.__test__ = TestConfig.__test__ = False


class TestAg2(Contract):
    framework = "ag2"
    inner_call_id = "in"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return tool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        script = [
            [ToolCallEvent(ask.name, id=ask.call_id, arguments=json.dumps(ask.arguments)) for ask in turn]
            for turn in turns
        ]
        config = TestConfig(*script, "done")
        told: Transcript = []
        client = config.create()

        class Listening(TestConfig):
            def create(self) -> Any:
                async def listen(messages: Any, context: Any, **options: Any) -> Any:
                    if isinstance(messages[-1], ToolResultsEvent):
                        told.extend(str(one.result.parts) for one in messages[-1].results)
                    return await client([], context, **options)  # of tools' errors that it saw it would raise

                return listen

        agent = Agent("helper", config=Listening(), tools=list(made))
        reply = await agent.ask("go")
        return [*told, str(reply.body)]

    def test_what_ag2_provides_is_not_input(self) -> None:
        """The context is filled in beside the model's arguments."""

        def place(item: str, context: Context) -> str:
            """Order something."""
            return f"{item} {context is not None}"

        place.__annotations__["context"] = Context
        (record,) = self.both([place], [[Ask("place", {"item": "tea"}, "c8")]])
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea True")
