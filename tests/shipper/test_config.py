"""What a shipper reads from its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolog.errors import ConfigError
from toolog.shipper.config import LONGEST_END, read_options


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with no setting from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("TOOLOG_PROFILE", "TOOLOG_SINKS", "TOOLOG_SPOOL_PATH", "TOOLOG_SHIP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(folder: Path, text: str, name: str = "ship.toml") -> Path:
    """Write a configuration file."""
    (folder / name).write_text(text)
    return folder / name


def test_an_applications_own_file_serves_both(folder: Path) -> None:
    """The file of an application that writes only makes a shipper of it, which ends within five seconds."""
    file = write(
        folder,
        'ship = "none"\nshutdown_timeout = "30 s"\nspool = { path = "there" }\n'
        'sinks = { out = { type = "file", path = "out.jsonl" } }\n'
        'retention = { ERROR = { sinks = ["out"], keep = "7 days" } }\n',
    )
    options = read_options(None, file)
    assert options.ship == "background"
    assert options.shutdown_timeout == LONGEST_END < 5
    assert options.directory == folder / "there"
    assert options.policies.route(20) == ()
    assert options.policies.route(40) == ("out",)


def test_the_directory_that_was_named_counts(folder: Path) -> None:
    """A directory on the command line comes before the configured one."""
    file = write(folder, 'spool = { path = "there" }\nsinks = { out = { type = "console" } }\n')
    assert read_options(Path("here"), file).directory == folder / "here"


def test_without_a_profile_every_sink_takes_everything(folder: Path) -> None:
    """A profile that nobody named brings no policies: no sink goes short because of its name."""
    file = write(folder, 'sinks = { store = { type = "sqlite" }, out = { type = "console" } }\n')
    assert read_options(None, file).policies.route(10) == ("store", "out")


def test_a_named_profile_brings_its_policies(folder: Path) -> None:
    """`profile` in the file, or TOOLOG_PROFILE, means the same as for the application."""
    file = write(folder, 'profile = "dev"\n')
    options = read_options(None, file)
    assert set(options.sinks) == {"console", "store"}
    assert options.policies.route(10) == ("console", "store")


def test_a_pyproject_may_be_given_as_the_file(folder: Path) -> None:
    """A file with [tool.toolog] is read from there."""
    file = write(folder, '[tool.toolog.sinks.out]\ntype = "console"\n', "pyproject.toml")
    assert set(read_options(None, file).sinks) == {"out"} == set(read_options(None, None).sinks)


def test_no_sinks_anywhere_is_an_error(folder: Path) -> None:
    """Nothing is shipped to a place that nobody chose, for it would be deleted from the spool."""
    with pytest.raises(ConfigError, match="names no sinks"):
        read_options(Path("spool"), None)
    with pytest.raises(ConfigError, match="No such file"):
        read_options(Path("spool"), folder / "nowhere.toml")
    with pytest.raises(ConfigError, match="did you mean 'sinks'"):
        read_options(Path("spool"), write(folder, "sink = {}\n"))
