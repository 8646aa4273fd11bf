"""AG2: an agent with a scripted model client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, need

need("ag2.tools")

from ag2 import Agent, Context, Depends  # noqa: E402
from ag2.events import BaseEvent, ToolCallEvent, ToolResultsEvent  # noqa: E402
from ag2.testing import TestClient, TestConfig  # noqa: E402
from ag2.tools import Toolkit, tool  # noqa: E402

TestClient.__test__ = TestConfig.__test__ = False


class TestAg2(Contract):
    framework = "ag2"
    inner_call_id = "in"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        return tool(function, **options)

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    def _agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> tuple[Any, Transcript]:
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

        return Agent("helper", config=Listening(), tools=list(made)), told

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        agent, told = self._agent(made, turns)
        reply = await agent.ask("go")
        return [*told, str(reply.body)]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        agent, told = self._agent(made, turns)
        kinds: list[str] = []

        async def hear(event: BaseEvent) -> None:
            kinds.append(type(event).__name__)

        async def stream() -> str:
            async with agent.run("go") as run:
                run.stream.subscribe(hear)
                run.start()
                return str((await run.result()).body)

        return [asyncio.run(stream()), *sorted(kinds), *told]

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        return self._agent(made, turns)[0]

    def talk(self, agent: Any) -> str:
        return str(asyncio.run(agent.ask("go")).body)

    def describe(self, tool: Any) -> Any:
        return tool.schema

    def make_configured(self, limit: int) -> Any:
        return Toolkit(tools.Toolbox(limit).limited, name="box")

    def test_the_result_is_the_functions_own(self) -> None:
        """Not the parts that AG2 makes of it for the model."""

        def look(n: int) -> dict[str, Any]:
            """Look."""
            return {"n": n, "found": [n, None]}

        look.__annotations__["n"] = int
        (record,) = self.both([look], [[Ask("look", {"n": "3"})]])
        assert record["output"] == {"n": 3, "found": [3, None]}

    def test_what_a_dependency_does_is_no_call_of_the_tool(self) -> None:
        """It runs before the function, and its result is no argument of the model's."""

        def shop(item: str) -> str:
            return f"shop of {item}"

        def place(item: str, at: Any) -> str:
            """Order something."""
            return f"{item} at {at}"

        shop.__annotations__["item"] = str
        place.__annotations__.update(item=str, at=Annotated[str, Depends(shop)])
        (record,) = self.both([place], [[Ask("place", {"item": "tea"}, "c8")]])
        assert (record["input"]["item"], record["output"]) == ("tea", "tea at shop of tea")

    def test_what_ag2_provides_is_not_input(self) -> None:
        """The context is filled in beside the model's arguments."""

        def place(item: str, context: Context) -> str:
            """Order something."""
            return f"{item} {context is not None}"

        place.__annotations__["context"] = Context
        (record,) = self.both([place], [[Ask("place", {"item": "tea"}, "c8")]])
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea True")
