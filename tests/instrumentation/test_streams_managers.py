"""Context managers that a tool returned: the record ends with them, and they stay the very same objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

import pytest

import toolog
from tests.helpers import Collector, collecting, wrap
from toolog.context import current
from toolog.settings import capture


@pytest.fixture
def seen() -> Iterator[Collector]:
    """What the calls of a test record."""
    with collecting() as collector:
        yield collector


@contextmanager
def opened(name: str, fault: str = "") -> Iterator[dict[str, str]]:
    """A thing that is open inside of a block, and may fail at each of its turns."""
    if fault == "enter":
        raise ConnectionError("refused")
    try:
        yield {"name": name}
    except LookupError as error:
        if fault == "turn":
            raise ConnectionError("turned") from error
        if fault != "swallow":
            raise
    if fault == "leave":
        raise ConnectionError("lost")


@asynccontextmanager
async def opened_later(name: str, fault: str = "") -> AsyncIterator[dict[str, str]]:
    """The same, to be awaited."""
    with opened(name, fault) as given:
        await asyncio.sleep(0)
        yield given
        await asyncio.sleep(0)


def _use(fault: str, raised: BaseException | None) -> None:
    with wrap(opened)("a", fault) as given:
        assert given == {"name": "a"}
        assert current.get() is None
        if raised is not None:
            raise raised


async def _use_later(fault: str, raised: BaseException | None) -> None:
    async with wrap(opened_later)("a", fault) as given:
        assert given == {"name": "a"}
        assert current.get() is None
        if raised is not None:
            raise raised


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("fault", "raised", "comes_out", "status", "error"),
    [
        ("", None, None, "success", None),
        ("enter", None, ConnectionError, "execution_error", "ConnectionError"),
        ("leave", None, ConnectionError, "execution_error", "ConnectionError"),
        ("", KeyError("k"), KeyError, "closed", None),
        ("", RuntimeError("r"), RuntimeError, "closed", None),
        ("turn", KeyError("k"), ConnectionError, "execution_error", "ConnectionError"),
        ("swallow", KeyError("k"), None, "success", None),
    ],
)
def test_the_end_of_a_block_is_the_end_of_the_call(
    seen: Collector,
    later: bool,
    fault: str,
    raised: BaseException | None,
    comes_out: type[BaseException] | None,
    status: str,
    error: str | None,
) -> None:
    """What is given to the block is the output; what the tool raises on entering and leaving is its failure,
    and what the block raises comes out as it is and closes the call."""

    def use() -> None:
        if later:
            asyncio.run(_use_later(fault, raised))
        else:
            _use(fault, raised)

    if comes_out is None:
        use()
    else:
        with pytest.raises(comes_out) as caught:
            use()
        assert comes_out is ConnectionError or caught.value is raised
    document = seen.only()
    toolog.validate(document)
    assert document["status"] == status
    assert (document.get("error") or {}).get("type") == error
    if status in ("success", "closed"):
        assert document["output"] == {"name": "a"}


def test_a_block_that_raises_stop_iteration_closes_the_call(seen: Collector) -> None:
    """What would end a generator, and is wrapped by Python therefore, comes out of the block as it is."""
    stop = StopIteration("s")
    with pytest.raises(StopIteration) as caught:
        _use("", stop)
    assert caught.value is stop
    assert seen.only()["status"] == "closed"


def test_it_is_the_very_object_and_its_block_no_part_of_the_call(seen: Collector) -> None:
    """The manager is the one that the tool made; calls while it opens are children, those in it are not."""
    made: list[AbstractContextManager[Any]] = []
    inner = wrap(lambda: 5, "inner")

    @contextmanager
    def session() -> Iterator[int]:
        yield inner()

    def make() -> AbstractContextManager[int]:
        made.append(session())
        return made[0]

    manager = wrap(make)()
    assert manager is made[0]
    with manager as given:
        assert given == 5
        inner()
    child, beside, parent = seen.documents
    assert child["parent_id"] == parent["span_id"]
    assert beside["parent_id"] is None
    assert parent["output"] == 5


def test_one_that_is_never_entered_ends_as_closed(seen: Collector) -> None:
    """A manager that nobody uses is closed when it is dropped, with no output."""
    wrap(opened)("a")
    document = seen.only()
    assert (document["status"], document["output"], document["duration_ms"]) == ("closed", None, 0)


def test_one_that_is_handed_on_is_followed_once(seen: Collector) -> None:
    """A tool that returns the manager of another one has that as its result; both records are there."""
    inner = wrap(opened)
    outer = wrap(lambda: inner("a"), "outer")
    with outer():
        assert [document["tool_name"] for document in seen.documents] == ["outer"]
    assert [document["tool_name"] for document in seen.documents] == ["outer", "opened"]


def test_what_is_given_is_bounded(seen: Collector) -> None:
    """What a manager gives to its block is cut like any result, by its own path."""
    capture.max_items = 3

    @contextmanager
    def rows() -> Iterator[list[int]]:
        yield list(range(100))

    with wrap(rows)() as given:
        assert len(given) == 100
    document = seen.only()
    toolog.validate(document)
    assert document["output"][:3] == [0, 1, 2]
    assert list(document["truncated"]) == ["output"]
