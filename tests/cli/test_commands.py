"""The command line as a whole: no command without help, an example and its place in the documentation."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from toolog.cli.group import COMMANDS, execute, root

ROOT = Path(__file__).parents[2]


def get_command(name: str) -> click.Command:
    """Return one command of the group."""
    command = root.get_command(click.Context(root), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help_and_an_example(name: str) -> None:
    """Each command explains itself and shows how it is called."""
    command = get_command(name)
    assert command.name == name
    assert "Example:" in (command.help or "")
    assert f"toolog {name}" in (command.help or "").partition("Example:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_short_help_is_the_one_of_the_table(name: str) -> None:
    """`toolog --help`, which imports no command, says what each command says of itself."""
    assert get_command(name).short_help == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    """No option is left unexplained."""
    options = [option for option in get_command(name).params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_command_prints_json(name: str) -> None:
    """Each command has `--json`."""
    assert "--json" in [flag for option in get_command(name).params for flag in option.opts]


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    """Each command has a heading in the reference."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert f"\n## toolog {name}\n" in page


def test_table_and_folder_agree() -> None:
    """Each command is one file, and each file of the folder that is no command has its own reason."""
    files = {file.stem.replace("_", "-") for file in (ROOT / "toolog" / "cli").glob("*.py")}
    assert files - {"--init--", "common", "group", "places"} == set(COMMANDS)


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt command is one clear line and exit code 2."""
    assert execute(["tial"]) == 2
    assert "Did you mean 'tail'?" in capsys.readouterr().err


def test_a_program_that_calls_a_command_keeps_its_signals(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the process's own command line may end by SIGPIPE; a caller of `execute` would die of a closed
    socket.
    """
    before = signal.getsignal(signal.SIGPIPE)
    assert execute(["schema"]) == 0
    assert signal.getsignal(signal.SIGPIPE) is before


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """`toolog --help` says what each exit code means."""
    assert execute(["--help"]) == 0
    shown = capsys.readouterr().out.partition("Exit codes:")[2].split()
    assert {"0", "1", "2", "3", "130"} <= set(shown)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_only_query_offers_an_archive(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--from` offers what the command can read, and nothing else."""
    assert execute([name, "--help"]) == 0
    shown = capsys.readouterr().out
    if "--from " in shown:
        assert ("store|search|s3|SINK" in shown) == (name == "query")


def test_help_imports_no_command() -> None:
    """`toolog --help` stays quick: it loads neither commands nor what they need."""
    code = (
        "import sys\n"
        "from toolog.cli.group import COMMANDS, execute\n"
        "assert execute(['--help']) == 0\n"
        "names = [*(f'toolog.cli.{command}' for command in COMMANDS), 'rich', 'wrapt', 're2']\n"
        "loaded = [name for name in names if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


def test_the_package_can_be_run_as_a_program() -> None:
    """Where the command is not on the path, ``python -m toolog`` is the same."""
    command = [sys.executable, "-m", "toolog", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("toolog ")
