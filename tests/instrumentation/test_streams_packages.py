"""Streams of real packages, unedited: they behave as ever, and each ends in one record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from watching import Records

import toolog
from tests.web import Answers, serving


class _Rows(Answers):
    def do_GET(self) -> None:
        """Answer with three lines."""
        self.answer(b"one\ntwo\nthree\n", "text/plain")


@pytest.fixture
def server() -> Iterator[str]:
    """Return the address of a local web server."""
    with serving(_Rows) as port:
        yield f"http://127.0.0.1:{port}/"


def test_more_itertools(records: Records) -> None:
    """Generators of more-itertools give their items, stop early and fail as without us."""
    more_itertools = pytest.importorskip("more_itertools")
    with toolog.instrument(more_itertools):
        assert list(more_itertools.windowed([1, 2, 3], 2)) == [(1, 2), (2, 3)]
        for window in more_itertools.windowed(range(100), 2):
            assert window == (0, 1)
            break
        del window
        with pytest.raises(ValueError, match="not divisible"):
            list(more_itertools.chunked([1, 2, 3], 2, strict=True))
        runs = more_itertools.split_when([1, 2, 4, 5], lambda before, after: after != before + 1)
        assert list(runs) == [[1, 2], [4, 5]]
    windows = [(record["status"], record["output"]) for record in records.all("windowed")]
    assert windows == [("success", [[1, 2], [2, 3]]), ("closed", [[0, 1]])]
    assert records.of("split_when")["output"] == [[1, 2], [4, 5]]


def test_httpx_stream(records: Records, server: str) -> None:
    """httpx's streamed response: its context manager stays one, its lines are the output of one record."""
    httpx = pytest.importorskip("httpx")
    with toolog.instrument(httpx):
        with httpx.Client(trust_env=False) as client, client.stream("GET", server) as response:
            assert list(response.iter_lines()) == ["one", "two", "three"]
        with httpx.Client(trust_env=False) as client, client.stream("GET", server) as response:
            assert next(response.iter_bytes(4)) == b"one\n"
    lines = records.of("Response.iter_lines")
    assert (lines["status"], lines["output"]) == ("success", ["one", "two", "three"])
    parts = records.of("Response.iter_bytes")
    assert (parts["status"], parts["output"]) == ("closed", ["one\n"])


async def test_httpx_async(records: Records, server: str) -> None:
    """httpx's AsyncClient: concurrent requests are one record each, and an abandoned stream is `closed`."""
    httpx = pytest.importorskip("httpx")
    with toolog.instrument(httpx):
        async with httpx.AsyncClient(trust_env=False) as client:
            answers = await asyncio.gather(*[client.get(server, params={"n": n}) for n in range(5)])
            assert [answer.text for answer in answers] == ["one\ntwo\nthree\n"] * 5
            async with client.stream("GET", server) as response:
                async for line in response.aiter_lines():
                    assert line == "one"
                    break
            with pytest.raises(httpx.UnsupportedProtocol):
                await client.get("nothing://x")
    gets = records.all("AsyncClient.get")
    assert [record["status"] for record in gets] == ["success"] * 5 + ["execution_error"]
    lines = records.of("Response.aiter_lines")
    assert (lines["status"], lines["output"]) == ("closed", ["one"])


async def test_aiosqlite(records: Records) -> None:
    """aiosqlite's coroutines come back from its thread with their rows, or with their errors."""
    aiosqlite = pytest.importorskip("aiosqlite")
    with toolog.instrument(aiosqlite):
        async with aiosqlite.connect(":memory:") as db:
            await db.executescript("create table t (n); insert into t values (1), (2);")
            async with db.execute("select n from t") as cursor:
                assert [row[0] async for row in cursor] == [1, 2]
            rows = await db.execute_fetchall("select n from t where n > ?", (1,))
            assert list(rows) == [(2,)]
            cursor = await db.execute("select n from t")
            assert await asyncio.wait_for(cursor.fetchall(), 60) == [(1,), (2,)]
            with pytest.raises(Exception, match="no such table"):
                await cursor.execute("select * from missing")
    assert records.of("Cursor.fetchall")["output"] == [[1], [2]]
    failed = records.of("Cursor.execute")
    assert (failed["status"], failed["error"]["message"]) == ("execution_error", "no such table: missing")
