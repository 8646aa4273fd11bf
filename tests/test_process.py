"""Which process, thread and task a record comes from."""

from __future__ import annotations

import threading

import ormsgpack

from toolog.call import Call, Plan
from toolog.process import packed_process


def _nothing() -> None: ...


def test_a_thread_is_described_in_one_go() -> None:
    """Code that runs while a thread is first described (a finalizer, a signal handler) finds it whole."""
    met: list[bytes] = []
    asked: list[bool] = []

    class Naming(threading.Thread):
        """A thread whose name is asked for, and that records something just then."""

        @property
        def name(self) -> str:
            if threading.current_thread() is self and not asked:
                asked.append(True)
                met.append(packed_process())
                met.append(Call(Plan(_nothing, tool_name="nothing"), None).process)
            return "named"

        @name.setter
        def name(self, value: str) -> None: ...

        def run(self) -> None:
            met.append(packed_process())

    thread = Naming()
    thread.start()
    thread.join()
    assert len(met) == 3
    assert {ormsgpack.unpackb(packed)["thread"] for packed in met} == {"named"}
