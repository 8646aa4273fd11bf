"""The command ``toolog``: one file for each command, loaded when it is asked for.

Exit codes, the same for every command:

    0    it worked, and nothing was found wrong
    1    it worked, and found faults (`validate`), failures, or nothing at all (`show`, `query`)
    2    it was called wrongly, or a setting or file is not usable; one line on stderr says why
    3    a server did not answer, or refused us; nothing can be said of what is there
    130  interrupted with Ctrl-C
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line (`args`, by default the process's own) and leave with its exit code."""
    import sys

    if "ship" in sys.argv[1:2]:  # while the rest is imported, a SIGHUP would end the process
        import signal

        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from toolog.cli.group import execute

    sys.exit(execute(args))
