"""Where settings come from, and how a wrong one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolog.errors import ConfigError
from toolog.settings import CaptureSettings, capture
from toolog.settings.checks import plain
from toolog.settings.files import read_config
from toolog.settings.resolve import apply_capture, look_up, read_project, resolve
from toolog.settings.table import TABLE, Parameter, section
from toolog.sinks import create, delivery

SAMPLES: dict[str, tuple[str, Any]] = {
    "count": ("77", 77),
    "durability": ('{"INFO": "memory", "ERROR": "process"}', {20: "memory", 40: "process"}),
    "duration": ("3 min", 180.0),
    "flag": ("yes", True),
    "key": ("a made key", "a made key"),
    "level": ("WARNING", 30),
    "levels": ('{"log": "DEBUG"}', {"log": 10}),
    "names": ("a.b, c", ("a.b", "c")),
    "number": ("2.5", 2.5),
    "path": ("/some/where", "/some/where"),
    "size": ("2 GiB", 2 << 30),
    "strings": ('{"name": "shop"}', {"name": "shop"}),
    "table": ('{"one": {"type": "memory"}}', {"one": {"type": "memory"}}),
    "text": ("json", "json"),
}
"""Kind of a parameter -> what may stand in a variable, and what it means."""


def handler(**given: Any) -> dict[str, Any]:
    """Return the resolved values of the handler's parameters."""
    return resolve(("handler",), given, where="here")


def test_argument_beats_environment_beats_pyproject_beats_default(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parameter's value is that of the first place that says something."""
    name = "queue.max_records"
    assert handler()[name] == 10_000
    (nowhere / "pyproject.toml").write_text("[tool.toolog]\nqueue = {max_records = 11}\n")
    assert handler()[name] == 11
    monkeypatch.setenv("TOOLOG_QUEUE_MAX_RECORDS", "12")
    assert handler()[name] == 12
    assert handler(queue={"max_records": 13})[name] == 13
    assert handler(**{"queue.max_records": 14})[name] == 14


def test_profile_defaults_stand_below_everything_that_a_user_says(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defaults that a profile sets give way to pyproject, environment and arguments."""

    def serializer() -> Any:
        return resolve(("handler",), {}, where="here", defaults={"serializer": "json"})["serializer"]

    assert serializer() == "json"
    (nowhere / "pyproject.toml").write_text("[tool.toolog]\nserializer = 'msgpack'\n")
    assert serializer() == "msgpack"


@pytest.mark.parametrize(
    "parameter", [p for p in TABLE if p.env and p.section != "sink"], ids=lambda p: p.name
)
def test_every_parameter_can_be_set_by_its_environment_variable(
    parameter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each variable in the table is read, and a value that makes sense is taken."""
    if parameter.kind == "choice":
        sample = expected = parameter.choices[-1]
    else:
        sample, expected = SAMPLES[parameter.kind]
    monkeypatch.setenv(parameter.env, sample)
    assert resolve((parameter.section,), {}, where="here")[parameter.name] == expected


@pytest.mark.parametrize("parameter", TABLE, ids=lambda p: f"{p.section}.{p.name}")
def test_every_default_passes_its_own_check(parameter: Any) -> None:
    """The table's defaults are values that a user could write."""
    values = resolve((parameter.section,), {}, where="here")
    assert parameter.name in values


def test_environment_variables_are_told_apart() -> None:
    """No two parameters share a variable, and no two of one section a name."""
    variables = [p.env for p in TABLE if p.env]
    assert len(variables) == len(set(variables))
    names = [(p.section, p.name) for p in TABLE]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"durabilty": "memory"}, ["durabilty", "here", "durability"]),
        ({"queue": {"max_record": 5}}, ["max_record", "queue in here", "max_records"]),
        ({"queue": 5}, ["queue in here", "table"]),
        ({"durability": "proces"}, ["durability in here", "process"]),
        ({"durability": {"INFOO": "memory"}}, ["INFOO", "INFO"]),
        ({"durability": {}}, ["empty"]),
        ({"spool": {"max_size": "1 Gibberish"}}, ["spool.max_size in here", "1 Gibberish"]),
        ({"spool": {"max_size": "1 kB"}}, ["too small"]),
        ({"shutdown_timeout": "-5 s"}, ["shutdown_timeout in here"]),
        ({"queue": {"max_records": 0}}, ["too small"]),
        ({"queue": {"max_records": True}}, ["whole number"]),
        ({"handle_signals": "perhaps"}, ["true or false"]),
        ({"ship": None}, ["ship in here", "needs a value"]),
        ({"sinks": ["store"]}, ["sinks in here", "table"]),
        ({"spool": {"path": ""}}, ["path"]),
        ({"spool": {"path": "a\0b"}}, ["spool.path in here is a path"]),
        ({"spool": {"path": "a\ud800b"}}, ["spool.path in here is a path"]),
    ],
)
def test_wrong_argument_is_told_with_its_place_and_the_nearest_right_one(
    given: dict[str, Any], words: list[str]
) -> None:
    """A ConfigError names what is wrong, where it stood, and what was probably meant."""
    with pytest.raises(ConfigError) as caught:
        handler(**given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool]\ntoolog = 5\n", "is a table of options, not a number"),
        ("[[tool.toolog]]\nprofile = 'dev'\n", "is a table of options, not a list"),
        ("x = " + "[" * 20_000, "is not readable as TOML"),
    ],
)
def test_pyproject_of_the_wrong_form_is_told(nowhere: Path, text: str, told: str) -> None:
    """What stands where [tool.toolog] belongs and is no table is an error, and is not passed over."""
    (nowhere / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=told):
        handler()


def test_byte_order_mark_says_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that an editor began with a byte order mark is read like any other, TOML or JSON."""
    mark = b"\xef\xbb\xbf"
    (nowhere / "pyproject.toml").write_bytes(mark + b"[tool.toolog]\nship = 'none'\n")
    assert handler()["ship"] == "none"
    for name, text in (("a.toml", b"serializer = 'json'"), ("a.json", b'{"serializer": "json"}')):
        (nowhere / name).write_bytes(mark + text)
        monkeypatch.setenv("TOOLOG_CONFIG", str(nowhere / name))
        assert handler()["serializer"] == "json"


def test_pyproject_whose_tool_is_no_table_says_nothing_of_us(nowhere: Path) -> None:
    """A `tool` that is no table is somebody else's mistake."""
    (nowhere / "pyproject.toml").write_text("tool = 5\n")
    assert read_project() == (f"[tool.toolog] of {nowhere / 'pyproject.toml'}", {})


def test_list_of_names_says_what_is_none() -> None:
    """What is wrong in a list is told by its kind."""
    with pytest.raises(ConfigError, match="repr_types in here is a list of names; a number is none"):
        resolve(("capture",), {"repr_types": ["decimal.*", 5]}, where="here")


def test_wrong_pyproject_is_told_with_its_file(nowhere: Path) -> None:
    """An unknown key, or a file that is no TOML, is told with the file's path."""
    file = nowhere / "pyproject.toml"
    file.write_text("[tool.toolog]\nserialiser = 'json'\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml.*serializer"):
        handler()
    file.write_text("[tool.toolog")
    with pytest.raises(ConfigError, match="not readable as TOML"):
        handler()


def test_nearest_pyproject_above_is_read_and_no_other(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the working directory, or else of the nearest directory above it, counts alone."""
    (nowhere / "pyproject.toml").write_text("[tool.toolog]\nship = 'none'\n")
    below = nowhere / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert handler()["ship"] == "none"
    (nowhere / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert handler()["ship"] == "background"
    assert read_project(nowhere)[1] == {"ship": "none"}


def test_capture_stands_beside_the_others_or_in_its_own_table(nowhere: Path) -> None:
    """In pyproject.toml capture's keys may stand in [tool.toolog] or in [tool.toolog.capture]."""
    (nowhere / "pyproject.toml").write_text(
        "[tool.toolog]\nmax_depth = 3\n[tool.toolog.capture]\nslow_ms = 5\n"
    )
    values = resolve(("capture",), {}, where="here")
    assert values["max_depth"] == 3
    assert values["slow_ms"] == 5
    (nowhere / "pyproject.toml").write_text("[tool.toolog.capture]\nmax_dept = 3\n")
    with pytest.raises(ConfigError, match="max_depth"):
        resolve(("capture",), {}, where="here")


def test_look_up_tells_a_choice_from_a_default() -> None:
    """Who asks can see whether somebody chose a value, also when it is the default's."""
    found = look_up(("handler",), {"ship": "background"}, where="here")
    assert not found["ship"].is_default
    assert found["serializer"].is_default


def test_converting_tables_are_read_by_key() -> None:
    """Tables of logging.config convert an item when it is read by its key, so that is how they are copied."""

    class Converting(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return f"converted {super().__getitem__(key)}"

    assert plain({"a": Converting(b="x"), "c": [1, (2,)]}) == {"a": {"b": "converted x"}, "c": [1, [2]]}


def test_capture_settings_are_changed_in_place() -> None:
    """What capture reads on every call is one object, which keeps what a configuration does not name."""
    target = CaptureSettings()
    apply_capture({"max_depth": 3, "slow_ms": 2.0}, target)
    assert (target.max_depth, target.slow_ms, target.max_items) == (3, 2.0, 1000)


def test_capture_settings_and_table_name_the_same_parameters() -> None:
    """Every attribute that capture reads is in the table, with the same default, and the other way round."""
    fresh = CaptureSettings()
    values = resolve(("capture",), {}, where="here")
    assert {p.name for p in section("capture")} == set(CaptureSettings.__slots__)
    assert {name: getattr(fresh, name) for name in values} == values
    assert type(capture) is CaptureSettings


SECRET = "unspeakable" + "-k3y"
HIDING: dict[str, Any] = {
    "list of tables": [{"type": "elasticsearch", "api_key": SECRET}],
    "table": {"search": {"api_key": SECRET}},
    "list": [SECRET],
    "nested": [[{"key": SECRET}]],
}


@pytest.mark.parametrize("parameter", [p for p in TABLE if p.section != "sink"], ids=lambda p: p.name)
@pytest.mark.parametrize("form", HIDING)
def test_no_error_quotes_a_table_or_a_list(
    monkeypatch: pytest.MonkeyPatch, parameter: Parameter, form: str
) -> None:
    """Whatever parameter is given a table or a list that it cannot use: the error names the kind of the value
    and not what stands in it, also where that came from the environment.
    """
    value = HIDING[form]
    for where in ("argument", "environment"):
        if where == "environment" and parameter.env:
            monkeypatch.setenv(parameter.env, json.dumps(value))
        given = {parameter.name: value} if where == "argument" else {}
        if where == "environment" and parameter.kind not in ("table", "levels", "strings"):
            continue
        told = ""
        try:
            resolve((parameter.section,), given, where="here")
        except ConfigError as error:
            told = str(error)
        assert SECRET not in told
        assert told or parameter.kind in ("table", "names")


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_configuration_file_of_the_wrong_form_is_not_quoted(tmp_path: Path, suffix: str) -> None:
    """`[[sinks]]` where `[sinks.NAME]` is right, or a list for a table: told without what stands there."""
    texts = {
        ".toml": f"[[sinks]]\ntype = 'elasticsearch'\napi_key = '{SECRET}'\n",
        ".json": f'[{{"api_key": "{SECRET}"}}]',
    }
    file = tmp_path / f"ship{suffix}"
    file.write_text(texts[suffix])
    with pytest.raises(ConfigError, match="is a table of options, not a list") as caught:
        resolve(("handler",), {}, where="here", project=read_config(file))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("key", ["hosts", "batch", "timeout", "type", "max_backoff"])
@pytest.mark.parametrize("kind", ["elasticsearch", "s3", "file", "console"])
def test_sink_with_a_table_for_an_option_does_not_quote_it(kind: str, key: str) -> None:
    """A secret that slid into the wrong option of a sink is not printed."""
    options = {"type": kind, "path": "x", key: {"id": SECRET, "hidden": [SECRET]}}
    with pytest.raises(ConfigError) as caught:
        delivery(create("out", options), options)
    assert SECRET not in str(caught.value)
