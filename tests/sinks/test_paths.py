"""Relative paths among the options of sinks are made whole; what is no path is left alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from toolog.errors import ConfigError
from toolog.settings.place import absolute, begun_in
from toolog.sinks.paths import pin, refuse_shared


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        ({"type": "sqlite"}, {"path": "{}/.toolog/calls.db"}),
        ({"type": "sqlite", "path": "a//b.db"}, {"path": "{}/a/b.db"}),
        ({"type": "file", "path": Path("out.jsonl")}, {"path": "{}/out.jsonl"}),
        ({"type": "file", "path": "/var/out.jsonl"}, {"path": "/var/out.jsonl"}),
        ({"type": "file", "path": 5}, {}),
        ({"type": "file", "path": ""}, {}),
        ({"type": "console"}, {}),
        ({"type": "nothing", "path": "a"}, {}),
        (
            {"type": "opensearch", "ca_certs": "ca.pem", "basic_auth": ["me", {"file": "word"}]},
            {"ca_certs": "{}/ca.pem", "basic_auth": ["me", {"file": "{}/word"}]},
        ),
        (
            {"type": "s3", "secret_access_key": {"file": "key"}, "tags": {"file": "x"}},
            {"secret_access_key": {"file": "{}/key"}},
        ),
        ({"type": "s3", "secret_access_key": {"env": "KEY"}}, {}),
    ],
)
def test_paths_are_made_whole(tmp_path: Path, options: dict[str, Any], whole: dict[str, Any]) -> None:
    """Options that a sink's class calls paths, their defaults, and files of secrets begin where the program
    was; all else is as it was.
    """

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [filled(inner) for inner in value]
        return value.replace("{}", str(tmp_path))

    given = dict(options)
    with begun_in(str(tmp_path)):
        assert pin("any", options) == {**options, **filled(whole)}
    assert options == given


def test_dots_behind_a_link_are_not_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`..` means the directory above the one that a link leads to; the home directory is found."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with begun_in(str(tmp_path)):
        assert absolute("link/../x", "path") == f"{tmp_path}/link/../x"
        assert absolute("./x/", "path") == f"{tmp_path}/x"
        assert absolute("~/x", "path") == f"{tmp_path}/home/x"


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a relative path needs it, and the error says which one."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    os.rmdir(gone)
    assert pin("out", {"type": "file", "path": "/var/x"})["path"] == "/var/x"
    with pytest.raises(ConfigError, match="path of sink 'out'"):
        pin("out", {"type": "file", "path": "x"})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"type": "file", "path": "out.jsonl"}, {"type": "file", "path": "./x/../out.jsonl"}),
        ({"type": "file", "path": "out.jsonl"}, {"type": "file", "path": "link.jsonl"}),
        ({"type": "sqlite"}, {"type": "sqlite", "path": Path(".toolog/calls.db")}),
        ({"type": "sqlite", "path": "a"}, {"type": "file", "path": "a"}),
    ],
)
def test_two_sinks_of_one_file_are_refused(
    first: dict[str, Any], second: dict[str, Any], tmp_path: Path
) -> None:
    """One of them would wait for the other for ever, so it is a ConfigError that names both."""
    (tmp_path / "x").mkdir()
    (tmp_path / "link.jsonl").symlink_to("out.jsonl")
    told = "sink 'b' is the file that sink 'a' writes"
    with begun_in(str(tmp_path)), pytest.raises(ConfigError, match=told):
        refuse_shared({"a": first, "b": second})


def test_what_several_sinks_may_have_in_common_is_no_error(tmp_path: Path) -> None:
    """A file of certificates, a stream, and tables that are wrong anyhow are nobody's alone."""
    stream = {"type": "file", "path": "/dev/stdout"}
    client = {"type": "opensearch", "hosts": ["http://localhost"], "ca_certs": "ca.pem"}
    wrong = {"type": "nothing", "path": "a"}
    with begun_in(str(tmp_path)):
        refuse_shared(
            {"a": stream, "b": stream, "c": client, "d": client, "e": wrong, "f": wrong, "g": object()}
        )
