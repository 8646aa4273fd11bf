"""Servers that no real one is: they accept a connection, or not even that, and never say a word."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

MakeSilent = Callable[..., str]


@pytest.fixture
def make_silent() -> Iterator[MakeSilent]:
    """Makes listeners that never answer and returns their URLs; without ``accepts`` they take no connection
    either, as a host behind a firewall that drops what it does not like.
    """
    with ExitStack() as stack:

        def make(*, accepts: bool = True) -> str:
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            listener.listen(128 if accepts else 0)
            place = listener.getsockname()
            for _ in range(0 if accepts else 4):  # its queue is full: further ones wait for ever
                one = stack.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(place)
            return f"http://127.0.0.1:{place[1]}"

        yield make
