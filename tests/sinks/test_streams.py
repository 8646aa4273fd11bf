"""Which paths lead to streams: by number, by link, by kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolog.sinks.streams import is_stream, open_stream


@pytest.mark.parametrize(
    "path",
    [
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd/1",
        "/proc/self/fd/2",
        "/proc/thread-self/fd/1",
        "/dev/null",
        "/dev/../dev/stdout",
    ],
)
def test_streams_and_devices_are_known(path: str) -> None:
    """Standard streams under each of their names, and devices, are streams."""
    assert is_stream(path)


@pytest.mark.parametrize(
    "name", ["file", "folder", "nothing", "link to file", "link to nothing", "loop", "stdout"]
)
def test_files_are_none(tmp_path: Path, name: str) -> None:
    """Files, folders, links to them, and what is not there yet are no streams, whatever they are called."""
    (tmp_path / "file").touch()
    (tmp_path / "stdout").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link to file").symlink_to("file")
    (tmp_path / "link to nothing").symlink_to("absent")
    (tmp_path / "loop").symlink_to("loop")
    assert not is_stream(tmp_path / name)


def test_a_descriptor_of_another_process_is_a_path_like_others() -> None:
    """Of another process's streams only the kind counts, which the kernel tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        assert is_stream(f"/proc/{child}/fd/{reading}")
        assert not is_stream(f"/proc/{child}/fd/9999")
    finally:
        os.close(writing)
        os.waitpid(child, 0)
        os.close(reading)


def test_an_open_stream_is_duplicated() -> None:
    """What goes to the path of an open descriptor arrives behind it, also where it could not be opened."""
    import socket

    ours, theirs = socket.socketpair()  # its path cannot be opened at all
    with ours, theirs:
        fd = open_stream(f"/dev/fd/{ours.fileno()}")
        assert fd != ours.fileno()
        os.write(fd, b"x")
        os.close(fd)
        assert theirs.recv(10) == b"x"
