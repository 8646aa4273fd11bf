"""Playwright, by no adapter: one record for each thing that an agent does with it, by its real driver."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.frameworks.contract import calls, need
from tests.web import serving
from toolog.instrumentation.entry import instrument
from toolog.testing import capture

need("playwright.sync_api")

import playwright.async_api as later  # noqa: E402
import playwright.sync_api as now  # noqa: E402


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a small web server on this machine."""
    with serving() as port:
        yield f"http://127.0.0.1:{port}/"


SEEN = [
    ("APIRequest.new_context", "success"),
    ("APIRequestContext.get", "success"),
    ("APIResponse.json", "success"),
    ("BrowserType.launch", "execution_error"),
    ("APIRequestContext.dispose", "success"),
]


def check(records: list[dict[str, Any]], first: str, server: str) -> None:
    """Check what a session left: the same for both kinds of its interface."""
    found = calls(records)
    assert [(one["tool_name"], one["status"]) for one in found] == [(first, "success"), *SEEN]
    assert {one["parent_id"] for one in found} == {None}
    assert (found[2]["input"]["url"], found[2]["input"]["params"]) == (server, {"q": "x"})
    assert found[3]["output"] == {"answer": 42}
    assert found[4]["input"]["executable_path"] == "/nowhere"
    assert found[4]["error"]["type"].endswith("Error")


def test_the_sync_interface_gives_one_record_a_call(server: str) -> None:
    """Whatever greenlets and the driver's connection do inside; afterwards everything is as it was."""
    before = {name: dict(vars(value)) for name, value in vars(now).items() if isinstance(value, type)}
    made = instrument(now)
    with capture("INFO") as records, now.sync_playwright() as started:
        requests = started.request.new_context()
        assert requests.get(server, params={"q": "x"}).json() == {"answer": 42}
        with pytest.raises(now.Error):
            started.chromium.launch(executable_path="/nowhere")
        requests.dispose()
    made.undo()
    check(records, "sync_playwright", server)
    assert {name: dict(vars(getattr(now, name))) for name in before} == before


def test_the_async_interface_gives_one_record_a_call(server: str) -> None:
    """The record ends when the answer is there."""

    async def session() -> None:
        async with later.async_playwright() as started:
            requests = await started.request.new_context()
            answer = await requests.get(server, params={"q": "x"})
            assert await answer.json() == {"answer": 42}
            with pytest.raises(later.Error):
                await started.chromium.launch(executable_path="/nowhere")
            await requests.dispose()

    made = instrument(later)
    with capture("INFO") as records:
        asyncio.run(session())
    made.undo()
    check(records, "async_playwright", server)
