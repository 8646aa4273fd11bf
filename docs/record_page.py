"""Write docs/reference/record.md from the schema of records.

python docs/record_page.py           write it
python docs/record_page.py --check   exit code 1 when it is not what the schema says
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference" / "record.md"
NOTE = "<!-- Written by docs/record_page.py; change the schema, not this page. -->\n\n"


def write_record() -> str:
    """Return the page of the record: events, required fields, and every field at any depth."""
    from toolog import schema, schemas

    document = schema.load()
    lines = [
        NOTE,
        "# The record\n\n",
        document["description"] + "\n\n",
        f"The file `schemas/{schemas.RECORD_V1}` is the truth and this page is made from it. "
        "`toolog schema` prints it, "
        "`toolog.validate(record)` checks one record, `toolog validate FILE` a file of them. "
        "Values are plain data as [values.md](values.md) says.\n\n",
        "## Events\n\n| event | also required | limits |\n|---|---|---|\n",
        *_events(document),
        f"\nRequired in every record: {_names(document['required'])}.\n\n",
        "## Fields\n\n| field | type | rule | meaning |\n|---|---|---|---|\n",
        *_fields(document),
    ]
    return "".join(lines)


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _events(document: dict[str, Any]) -> Iterator[str]:
    for event in document["properties"]["event"]["enum"]:
        required: list[str] = []
        limits: list[str] = []
        for rule in document["allOf"]:
            condition = rule["if"]["properties"].get("event", {})
            if event not in condition.get("enum", [condition.get("const")]):
                continue
            required += rule["then"].get("required", [])
            for name, limit in rule["then"].get("properties", {}).items():
                if "enum" in limit or "const" in limit:
                    limits.append(f"`{name}` is {' or '.join(limit.get('enum', [limit.get('const')]))}")
                elif "required" in limit:
                    limits.append(f"`{name}` has {_names(limit['required'])}")
        yield f"| `{event}` | {_names(required) or '-'} | {'; '.join(limits) or '-'} |\n"


def _fields(node: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, field in node.get("properties", {}).items():
        yield f"| `{path}{name}` | {_type(field)} | {_rule(field)} | {field['description']} |\n"
        yield from _inside(field, f"{path}{name}")


def _inside(field: dict[str, Any], path: str) -> Iterator[str]:
    yield from _fields(field, f"{path}.")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        inner = field.get(key)
        if isinstance(inner, dict):
            yield f"| `{path}{mark}` | {_type(inner)} | {_rule(inner)} | {inner['description']} |\n"
            yield from _inside(inner, f"{path}{mark}")


def _type(field: dict[str, Any]) -> str:
    kind = field.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(kind)


def _rule(field: dict[str, Any]) -> str:
    rules = []
    if "enum" in field:
        rules.append(", ".join(f"`{value}`" for value in field["enum"] if value is not None))
    elif field.get("format") == "date-time":
        rules.append("RFC 3339, UTC, microseconds, `Z`")
    elif "pattern" in field:
        rules.append("`" + field["pattern"].replace("|", "\\|") + "`")
    for key, word in (("minimum", "at least"), ("maximum", "at most"), ("minLength", "length at least"),
                      ("maxLength", "length at most"), ("minItems", "items at least")):  # fmt: skip
        if key in field and "pattern" not in field:
            rules.append(f"{word} {field[key]}")
    if "const" in field.get("not", {}):
        rules.append(f"not `{field['not']['const']}`")
    if "required" in field:
        rules.append(f"has {_names(field['required'])}")
    return "; ".join(rules) or "-"


def main(check: bool) -> int:
    """Write or check the page and return the exit code."""
    text = write_record()
    if not check:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(text, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != text:
        sys.stderr.write("docs/reference/record.md is stale; run: python docs/record_page.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
