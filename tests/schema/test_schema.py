"""The record schema: golden documents of every event, valid and broken, and the promises about versions."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog import schema, schemas
from toolog.errors import RecordInvalid

GOLDEN = {
    file.stem: json.loads(file.read_text("utf-8"))
    for file in sorted(Path(__file__).parent.glob("golden/*.json"))
}
BROKEN = [
    pytest.param(event, case, id=f"{event}: {case['why']}")
    for event, golden in GOLDEN.items()
    for case in golden["broken"]
]


def broken(event: str, case: dict[str, Any]) -> dict[str, Any]:
    """Return the golden record of an event with the changes of a case."""
    record = {
        key: value for key, value in GOLDEN[event]["record"].items() if key not in case.get("remove", ())
    }
    return {**record, **case.get("set", {})}


def test_every_event_has_a_golden_document() -> None:
    """Nine events, nine documents."""
    assert set(GOLDEN) == set(schema.load()["properties"]["event"]["enum"])
    assert len(GOLDEN) == 9


@pytest.mark.parametrize("event", GOLDEN)
def test_golden_document_is_valid(event: str) -> None:
    """The golden document of each event keeps the schema."""
    schema.validate(GOLDEN[event]["record"])


@pytest.mark.parametrize(("event", "case"), BROKEN)
def test_broken_document_names_its_faults(event: str, case: dict[str, Any]) -> None:
    """Each broken document has exactly the faults that stand beside it, as path and rule."""
    found = {(fault.path, fault.rule) for fault in schema.iter_faults(broken(event, case))}
    assert found == {tuple(fault) for fault in case["faults"]}


def test_all_golden_fields_are_used() -> None:
    """Every field of the schema stands in at least one golden document."""
    used = {field for golden in GOLDEN.values() for field in golden["record"]}
    assert used == set(schema.load()["properties"])


def parts(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property of a schema with its path."""
    for name, inner in node.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from parts(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield f"{path}.{key}", node[key]
            yield from parts(node[key], f"{path}.{key}")


def test_every_field_is_described() -> None:
    """Each field of the file, at any depth, says what it is, in a sentence."""
    described = list(parts(schema.load()))
    assert len(described) > 60
    for path, part in described:
        assert part.get("description", "")[-1:] in (".", ")"), path


def test_the_file_is_a_draft_2020_12_schema() -> None:
    """The file says which draft it is, has an id and a title, and keeps that draft."""
    import jsonschema

    document = schema.load()
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"]
    assert document["title"]
    jsonschema.Draft202012Validator.check_schema(document)


def test_closed_for_its_own_version_and_open_for_later_ones() -> None:
    """Records of 1.0 have no unknown fields; those of 1.1 may, as a minor version adds optional ones."""
    document = schema.load()
    rule = document["allOf"][0]
    assert rule["then"]["propertyNames"]["enum"] == list(document["properties"])
    record = GOLDEN["log"]["record"]
    assert list(schema.iter_faults({**record, "mood": 1}))
    assert not list(schema.iter_faults({**record, "schema_version": "1.1", "mood": 1}))
    assert list(schema.iter_faults({**record, "schema_version": "1.1", "count": "many"}))
    for version in ("2.0", "1", "1.01", "0.9", 1.0):
        assert [fault.path for fault in schema.iter_faults({**record, "schema_version": version})] == [
            "schema_version"
        ]


def test_load_gives_a_copy() -> None:
    """Whoever changes what load() gave changes nothing for others."""
    schema.load()["properties"].clear()
    assert schema.load()["properties"]


def test_validate_names_the_faults() -> None:
    """RecordInvalid shows the first faults and carries them all."""
    record = {**GOLDEN["log"]["record"], "level": "x", "depth": "y", "count": 0, "host": 1}
    with pytest.raises(RecordInvalid, match="and 1 more") as caught:
        schema.validate(record)
    assert [fault.path for fault in caught.value.faults] == ["count", "depth", "host", "level"]


@pytest.mark.parametrize("thing", [None, [], "record", 7, {1: 2}, {"a": {2}}, {"output": {1, 2}}])
def test_what_is_no_record_is_invalid(thing: Any) -> None:
    """Anything can be checked; what is no record has faults, and nothing else is raised."""
    with pytest.raises(RecordInvalid):
        schema.validate(thing)


def test_a_value_that_is_forbidden_is_said_plainly() -> None:
    """An id of zeros is answered with the value, not with a piece of the schema."""
    record = {**GOLDEN["tool_call_start"]["record"], "span_id": "0" * 16}
    (fault,) = schema.iter_faults(record)
    assert (fault.path, fault.rule, fault.message) == ("span_id", "not", f"'{'0' * 16}' is not allowed")


def test_messages_are_bounded() -> None:
    """A fault's text does not repeat a huge value."""
    faults = list(schema.iter_faults({**GOLDEN["log"]["record"], "level": "x" * 100_000}))
    assert all(len(fault.message) < 400 for fault in faults)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_a_fault(value: float) -> None:
    """NaN and infinities are faults wherever they stand, named by path, with and without the fast library."""
    record = {
        **GOLDEN["tool_call_success"]["record"],
        "duration_ms": value,
        "input": {"rows": [1.5, {"score": value}], "huge": 10**400},
        "output": value,
    }
    found = {(fault.path, fault.rule) for fault in schema.iter_faults(record)}
    assert found == {("duration_ms", "finite"), ("input.rows[1].score", "finite"), ("output", "finite")}


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 70)
    | st.floats()
    | st.text(max_size=5)
    | st.just([])
    | st.just({})
)


@given(st.sampled_from(sorted(GOLDEN)), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_quick_check_says_what_jsonschema_says(event: str, data: st.DataObject) -> None:
    """With or without the fast library a record is valid or invalid alike."""
    quick = schema._quick_check()
    if quick is None:
        pytest.skip("jsonschema_rs is not installed")
    record = dict(GOLDEN[event]["record"])
    fields = st.sampled_from(sorted(schema.load()["properties"]))
    for field in data.draw(st.lists(fields, max_size=3)):
        record[field] = data.draw(VALUES | st.sampled_from([g["record"].get(field) for g in GOLDEN.values()]))
    for field in data.draw(st.lists(fields, max_size=2)):
        record.pop(field, None)
    assert quick(record) == schema._validator().is_valid(record)


@pytest.mark.parametrize(("event", "case"), BROKEN)
def test_the_quick_check_finds_every_broken_document(event: str, case: dict[str, Any]) -> None:
    """No broken golden document passes the quick check."""
    quick = schema._quick_check()
    if quick is None:
        pytest.skip("jsonschema_rs is not installed")
    assert not quick(broken(event, case))


def test_works_without_the_fast_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """jsonschema alone gives the same answers."""
    schema._quick_check.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    try:
        assert schema._quick_check() is None
        schema.validate(GOLDEN["loss"]["record"])
        assert list(schema.iter_faults({}))
    finally:
        schema._quick_check.cache_clear()


def test_jsonschema_is_loaded_by_the_first_check_only() -> None:
    """Loading the schema imports no validator."""
    code = "import sys; from toolog import schema; schema.load(); print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_schema_is_read_out_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package lies in a zip, as in a zipapp, its schema can be read like any other."""
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in Path(schemas.__file__).parent.iterdir():
            if path.suffix in (".py", ".json"):
                packed.write(path, f"packed_schemas/{path.name}")
    monkeypatch.syspath_prepend(str(archive))
    zipped = importlib.import_module("packed_schemas")
    assert str(archive) in zipped.__file__
    assert zipped.read() == schemas.read()
