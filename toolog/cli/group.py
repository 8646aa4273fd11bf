"""The group of commands: a table of names, so that `toolog --help` imports none of them."""

from __future__ import annotations

import contextlib
import errno
import importlib
import inspect
import os
import signal
import sys
from collections.abc import Sequence

import click

from toolog.cli.common import NO_ANSWER
from toolog.errors import (
    ConfigError,
    SinkError,
    SpoolError,
    StoreUnavailable,
    ToologError,
    nearest,
)

# The order is the one that help shows: first what a newcomer needs. The words are each command's short help;
# a test keeps them equal to what the command says of itself.
COMMANDS = {
    "demo": "Watch three orders go through third-party tools, then see what was recorded.",
    "run": "Run a Python program with its tools instrumented, its source untouched.",
    "tail": "Show the newest tool calls, as lines or as trees; follow new ones.",
    "show": "Show one trace as a waterfall, with inputs, outputs and errors.",
    "query": "Find calls by filters and text, or by read-only SQL.",
    "stats": "Show how often, how fast and how well each tool works.",
    "instances": "List the configured tool instances that were seen.",
    "schema": "Print the JSON Schema of records.",
    "validate": "Check a file of records against the schema.",
    "sanitize": "Show what would be masked in a file, and by which rule.",
    "audit": "Look for known secrets in files, spools and stores.",
    "cat": "Print the records in a spool, in files or in a bucket.",
    "convert": "Turn records into JSON lines, MessagePack or Parquet.",
    "ship": "Ship a spool to its sinks, as a process of its own.",
    "dead-letters": "List, send again or drop what sinks refused.",
    "retention": "Show, apply and verify how long each sink keeps records.",
    "level": "Change the level of a running process.",
    "doctor": "Tell what is and is not instrumented in this environment, and why.",
    "bench": "Measure on this machine what recording costs.",
}

# A closed pipe ends commands quietly, as it ends any Unix tool. Not these: the sockets and pipes of a program
# or of a sink's client must give it an exception, not a signal.
_PIPE_IS_THEIRS = {"run", "demo", "ship", "cat", "convert", "query", "retention"}


class CommandGroup(click.Group):
    """A group whose commands are imported when they are called or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for a name nobody knows."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"toolog.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            guess = nearest(args[0], COMMANDS)
            hint = f" Did you mean {guess!r}?" if guess else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. That nobody reads its output any more is no failure (click calls it one)."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            from toolog.cli.common import forget_output

            forget_output()
            return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing them, and the exit codes."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Exit codes"):
            formatter.write_dl([(code, words.strip()) for code, _, words in exit_codes()])


def exit_codes() -> list[tuple[str, str, str]]:
    """Return the exit codes as the package's docstring has them: code, blanks, words."""
    import toolog.cli

    rows = inspect.cleandoc(toolog.cli.__doc__ or "").partition("Exit codes")[2].splitlines()
    return [row.strip().partition(" ") for row in rows if row.strip()[:1].isdigit()]


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `toolog demo`. Each command has `--help` with an example.",
)
@click.version_option(package_name="toolog", message="%(prog)s %(version)s")
def root() -> None:
    """Record, read and check the tool calls of AI agents."""


def execute(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error that a user can cause is one clear line."""
    words = list(sys.argv[1:] if args is None else args)
    if args is None:  # a program that calls us keeps its own signals and streams
        _leave_quietly_on_a_closed_pipe(words)
        _open_closed_streams()
    try:
        answer = root.main(args=words, prog_name="toolog", standalone_mode=False)
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except click.exceptions.Exit as done:
        return int(done.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except (ConfigError, StoreUnavailable, SpoolError) as error:
        return _complain(error, 2)
    except SinkError as error:
        return _complain(error, NO_ANSWER)
    except ToologError as error:
        return _complain(error, 1)
    except UnicodeEncodeError:
        strange = next((word for word in words if not _is_text(word)), None)
        if strange is None:
            raise
        return _complain(f"an argument is not text in UTF-8: {strange!r}", 2)
    except OSError as error:
        if error.errno == errno.EPIPE:
            from toolog.cli.common import forget_output

            forget_output()
            return 0
        return _complain(_readable(error), 2)


def _leave_quietly_on_a_closed_pipe(words: Sequence[str]) -> None:
    command = next((word for word in words if not word.startswith("-")), "")
    if command not in _PIPE_IS_THEIRS and hasattr(signal, "SIGPIPE"):
        with contextlib.suppress(ValueError):  # not the main thread: then it is a test that calls us
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _open_closed_streams() -> None:
    """Open in place of each standard stream that was closed before we began what takes all and gives nothing:
    nothing else may get its number, and printing must not fail.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _complain(error: object, code: int) -> int:
    from toolog.sinks.lines import visible

    with contextlib.suppress(OSError):
        # It may quote the name of a file or an object, or what a server said.
        click.echo("\n".join(map(visible, f"toolog: {error}".splitlines())), err=True)
    return code


def _readable(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
