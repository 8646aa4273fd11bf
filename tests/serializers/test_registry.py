"""Finding serializers by name, dotted name, entry point and code."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from toolog import serializers
from toolog.errors import ConfigError, SerializationError


class Indented:
    """A serializer of a user's own."""

    name = "indented"
    code = 77
    suffix = ".json"

    def dumps(self, document: Any) -> bytes:
        return json.dumps(document, indent=1).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)

    def from_packed(self, packed: bytes) -> bytes:
        return self.dumps(serializers.get("msgpack").loads(packed))


class Clashing(Indented):
    name = "clashing"
    code = 0


class Unfinished:
    name = "unfinished"


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with nothing found yet, and leave nothing behind."""
    monkeypatch.setattr(serializers, "_by_name", {})
    monkeypatch.setattr(serializers, "_by_code", {})


def test_names_and_codes() -> None:
    """The two that come with toolog have fixed codes, which stand in spools on disk."""
    assert serializers.known_names() == ["json", "msgpack"]
    assert (serializers.get("json").code, serializers.get("msgpack").code) == (0, 1)
    assert serializers.by_code(0).name == "json"
    assert serializers.by_code(1).name == "msgpack"


def test_found_once() -> None:
    """The same name gives the same object."""
    assert serializers.get("json") is serializers.get("json")


def test_dotted_name() -> None:
    """A class or an object of the user's is found by its dotted name, then also by its code."""
    found = serializers.get(f"{__name__}:Indented")
    assert found.from_packed(b"\x81\xa1a\x01") == b'{\n "a": 1\n}'
    assert serializers.by_code(77) is found


def test_object_is_taken_as_it_is() -> None:
    """A serializer object needs no name."""
    mine = Indented()
    assert serializers.get(mine) is mine


def test_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package offers a serializer by an entry point; a spool's reader finds it by its code alone."""
    point = EntryPoint("indented", f"{__name__}:Indented", serializers.GROUP)
    monkeypatch.setattr(serializers, "_entry_points", lambda: [point])
    assert serializers.known_names() == ["indented", "json", "msgpack"]
    assert serializers.by_code(77).name == "indented"
    assert serializers.get("indented").code == 77


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("msgpak", "did you mean 'msgpack'"),
        ("xml", "known: json, msgpack"),
        ("no_such_module_here:thing", "could not be imported"),
        (f"{__name__}:nothing", "could not be imported"),
        (f"{__name__}:Unfinished", "has not all of name, code, suffix"),
        (f"{__name__}:test_dotted_name", "has not all of"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    """A wrong name is told at once, with the nearest right one."""
    with pytest.raises(ConfigError, match=message):
        serializers.get(name)


def test_codes_are_unique() -> None:
    """Two serializers with one code would read each other's spools: refused."""
    serializers.get("json")
    with pytest.raises(ConfigError, match="code 0, which is that of 'json'"):
        serializers.get(f"{__name__}:Clashing")


def test_broken_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point that leads nowhere is told as such."""
    point = EntryPoint("gone", "no_such_module_here:thing", serializers.GROUP)
    monkeypatch.setattr(serializers, "_entry_points", lambda: [point])
    with pytest.raises(ConfigError, match="entry point is broken"):
        serializers.get("gone")


def test_unknown_code() -> None:
    """A frame of a serializer that is not installed is told, not guessed at."""
    with pytest.raises(SerializationError, match="code 200"):
        serializers.by_code(200)
