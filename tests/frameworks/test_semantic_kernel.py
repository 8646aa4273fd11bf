"""Semantic Kernel: functions of plugins, called by a scripted chat service, in the kernel's own loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, ClassVar, get_type_hints

import pytest

from tests.frameworks import tools
from tests.frameworks.contract import Ask, Contract, Transcript, Turn, calls, need
from toolog.testing import only

need("semantic_kernel")

from semantic_kernel import Kernel  # noqa: E402
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase  # noqa: E402
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior  # noqa: E402
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings  # noqa: E402
from semantic_kernel.contents import (  # noqa: E402
    ChatHistory,
    ChatMessageContent,
    FunctionCallContent,
    StreamingChatMessageContent,
)
from semantic_kernel.contents.utils.author_role import AuthorRole  # noqa: E402
from semantic_kernel.exceptions import KernelInvokeException  # noqa: E402
from semantic_kernel.functions import KernelFunction, KernelFunctionFromMethod, kernel_function  # noqa: E402


class _Service(ChatCompletionClientBase):
    """A chat service that asks for the tool calls of each turn."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    turns: list[Any]

    def _update_function_choice_settings_callback(self) -> Callable[..., None]:
        return lambda configuration, settings, kind: None

    def _reset_function_choice_settings(self, settings: Any) -> None:
        pass

    def _items(self) -> list[Any]:
        turn = self.turns.pop(0) if self.turns else ()
        return [
            FunctionCallContent(
                id=ask.call_id, index=index, name=ask.name,
                arguments=ask.arguments if isinstance(ask.arguments, str) else json.dumps(ask.arguments),
            )
            for index, ask in enumerate(turn)
        ]  # fmt: skip

    async def _inner_get_chat_message_contents(
        self, chat_history: Any, settings: Any
    ) -> list[ChatMessageContent]:
        items = self._items()
        if not items:
            return [ChatMessageContent(role=AuthorRole.ASSISTANT, content="done")]
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=items)]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> AsyncGenerator[list[StreamingChatMessageContent], Any]:
        items = self._items()
        if items:
            yield [StreamingChatMessageContent(role=AuthorRole.ASSISTANT, items=items, choice_index=0)]
        else:
            yield [StreamingChatMessageContent(role=AuthorRole.ASSISTANT, content="done", choice_index=0)]


class Limited:
    """A plugin with a setting."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @kernel_function(description="Return a number within the limit.")
    def limited(self, n: int) -> int:
        return min(n, self.limit)


def _told(history: ChatHistory) -> Transcript:
    return [f"{message.role} {message.to_dict()}" for message in history.messages]


class TestSemanticKernel(Contract):
    framework = "semantic-kernel"

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        function.__annotations__.update(get_type_hints(function))
        return KernelFunctionFromMethod(kernel_function(function), **options)

    def _start(
        self, made: Sequence[Any], turns: Sequence[Turn]
    ) -> tuple[_Service, ChatHistory, dict[str, Any]]:
        kernel = Kernel()
        for one in made:
            if isinstance(one, KernelFunction):
                kernel.add_function("box", one)
            else:
                kernel.add_plugin(one, "limits")
        history = ChatHistory()
        history.add_user_message("go")
        settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())
        service = _Service(ai_model_id="scripted", turns=list(turns))
        return service, history, {"settings": settings, "kernel": kernel}

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        return asyncio.run(self.run_agent_async(made, turns))

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        service, history, options = self._start(made, turns)
        try:
            answer = await service.get_chat_message_content(history, **options)
        except Exception as error:
            return [*_told(history), f"{type(error)} {error}"]
        return [*_told(history), str(answer)]

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        async def main() -> Transcript:
            service, history, options = self._start(made, turns)
            chunks = service.get_streaming_chat_message_contents(history, **options)
            return [*[str(chunk[0]) async for chunk in chunks], *_told(history)]

        return asyncio.run(main())

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        coroutine = Kernel().invoke(tool, **arguments)
        try:  # a sync tool of the kernel's runs in its event loop
            coroutine.send(None)
        except StopIteration as ended:
            return ended.value.value
        raise AssertionError("the function was to end at once")

    def describe(self, tool: Any) -> Any:
        return tool.metadata

    def make_configured(self, limit: int) -> Any:
        return Limited(limit)

    def test_the_name_is_the_models_with_that_of_the_plugin(self) -> None:
        """A plugin's name and a function's stand in what the model is told, and in its request."""
        (record,) = self.both([tools.add], [[Ask("box-add", {"a": 1}, "c1")]])
        assert (record["tool_name"], record["output"]) == ("box-add", 3)
        assert record["tool"]["description"] == "Add two numbers."

    @pytest.mark.parametrize(
        "arguments", [{}, {"a": 1, "wrong": 2}, '{"a": '], ids=["missing", "unexpected", "no JSON"]
    )
    def test_arguments_that_the_kernel_refuses_leave_a_rejected_record(self, arguments: Any) -> None:
        """The model is told a text; the record says that the function never ran."""
        if (
            "wrong" in arguments
            and "unexpected_params" not in Kernel.invoke_function_call.__code__.co_varnames
        ):
            pytest.skip("this version drops what is not expected")
        (record,) = self.both([tools.add], [[Ask("box-add", arguments, "c3")]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert (record["tool_name"], record["tool_call_id"]) == ("box-add", "c3")
        assert record["input"] == (arguments if isinstance(arguments, dict) else {"input": arguments})
        assert record["error"]["message"]

    def test_a_function_that_is_not_allowed_is_unknown(self) -> None:
        """The choice behaviour's filters decide what the model may call."""

        async def main() -> Transcript:
            service, history, options = self._start([self.make_tool(tools.add)], [[Ask("box-add", {"a": 1})]])
            allowed = FunctionChoiceBehavior.Auto(filters={"excluded_functions": ["box-add"]})
            options["settings"].function_choice_behavior = allowed
            await service.get_chat_message_content(history, **options)
            return _told(history)

        plain = asyncio.run(main())
        with self.watched() as records:
            assert asyncio.run(main()) == plain
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "unknown_tool")

    def test_a_call_that_a_filter_answers_is_rejected(self) -> None:
        """The function was kept from running."""

        async def refuse(context: Any, next: Any) -> None:
            """Answer in place of the function."""

        async def main() -> Transcript:
            service, history, options = self._start([self.make_tool(tools.add)], [[Ask("box-add", {"a": 1})]])
            options["kernel"].add_filter("auto_function_invocation", refuse)
            await service.get_chat_message_content(history, **options)
            return _told(history)

        plain = asyncio.run(main())
        with self.watched() as records:
            assert asyncio.run(main()) == plain
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_rejected", "context_error")

    def test_a_stream_in_code_is_one_record_with_its_items(self) -> None:
        """``invoke_stream`` of a generator function; the record ends with the stream."""
        made = self.make_tool(tools.count_up)

        async def main() -> list[Any]:
            return [one async for one in Kernel().invoke_stream(made, n=3)]

        plain = asyncio.run(main())
        with self.watched() as records:
            assert asyncio.run(main()) == plain == [0, 1, 2]
        (record,) = calls(records)
        assert (record["tool_name"], record["status"]) == ("count_up", "success")
        assert (record["input"], record["output"]) == ({"n": 3}, [0, 1, 2])

    def test_an_error_in_code_is_recorded_with_the_kernels_around_it(self) -> None:
        """``Kernel.invoke`` wraps the function's own exception."""
        made = self.make_tool(tools.fail)
        with self.watched() as records, pytest.raises(KernelInvokeException):
            asyncio.run(Kernel().invoke(made, city="Ys"))
        assert only(records, tool_name="fail")["error"]["message"] == "no city Ys"

    def test_what_the_kernel_fills_in_is_not_input(self) -> None:
        """The kernel itself, beside the model's arguments."""

        @kernel_function
        def place(item, kernel=None):  # type: ignore[no-untyped-def]
            """Order something."""
            return f"{item} {len(kernel.plugins)}"

        made = KernelFunctionFromMethod(place)
        with self.watched() as records:
            asyncio.run(Kernel().invoke(made, item="tea"))
        (record,) = calls(records)
        assert (record["input"], record["output"]) == ({"item": "tea"}, "tea 0")

    def test_a_plugin_or_a_kernel_can_be_pointed_at(self) -> None:
        """Its functions are meant, which are copies of those that it was made of."""
        kernel, other = Kernel(), Kernel()
        kernel.add_function("box", self.make_tool(tools.add))
        other.add_function("box", self.make_tool(tools.slow_add))
        for target in (kernel, kernel.get_plugin("box")):
            with self.watched(target) as records:
                asyncio.run(kernel.invoke(function_name="add", plugin_name="box", a=1))
                asyncio.run(other.invoke(function_name="slow_add", plugin_name="box", a=1))
            assert [record["tool_name"] for record in calls(records)] == ["box-add"]
