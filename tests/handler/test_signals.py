"""``handle_signals``: a flush, then what the process would have done anyway."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.pipeline.programs import assert_complete, run

PROGRAM = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
log = attach(handler("memory", handle_signals=True, sinks={"out": {"type": "file", "path": "out.jsonl",
                     "batch": {"max_age": 30}}}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_flushes_memory_durability(number: signal.Signals, tmp_path: Path) -> None:
    """After SIGTERM or SIGINT everything is stored, and the process ends as by the signal."""
    code = -signal.SIGTERM if number == signal.SIGTERM else -signal.SIGINT
    run(
        PROGRAM
        + f"""
for index in range(100):
    log.info("%d", index)
os.kill(os.getpid(), {int(number)})
time.sleep(60)
""",
        tmp_path,
        code=code,
    )
    assert_complete(tmp_path, list(range(100)))


def test_handler_of_the_program_still_runs(tmp_path: Path) -> None:
    """A signal handler that the program had installed is called after the flush, and decides the exit
    code.
    """
    run(
        """
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
        """.replace("\n        ", "\n")
        + PROGRAM
        + """
log.info("1")
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
""",
        tmp_path,
        code=7,
    )
    assert_complete(tmp_path, [1])


def test_nothing_is_installed_unasked(tmp_path: Path) -> None:
    """Without the option no signal handler changes, and closing puts back those that the option changed."""
    run(
        """
        before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        made = handler("memory")
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
        other = handler("memory", handle_signals=True)
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] != before
        other.close()
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
        """,
        tmp_path,
    )


def test_a_connection_that_a_server_closed_does_not_end_the_program(tmp_path: Path) -> None:
    """Where the program lets SIGPIPE end it, a sink that writes to a closed connection gets an error."""
    run(
        """
        import socket
        from toolog.errors import SinkUnavailable
        class Connected:
            tries = 0
            def __init__(self, name): self.name = name
            def connect(self):
                self.ours, theirs = socket.socketpair()
                theirs.close()
            def write(self, batch):
                try:
                    if Connected.tries < 2:
                        Connected.tries += 1
                        self.ours.send(b"x")
                except BrokenPipeError as error:
                    raise SinkUnavailable(str(error))
            def close(self): self.ours.close()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        log = attach(handler(sinks={"out": {"type": "__main__:Connected"}}))
        log.info("1")
        assert flush(30), stats()
        assert Connected.tries == 2
        """,
        tmp_path,
    )
