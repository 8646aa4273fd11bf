"""What an installed toolog can do in an environment with nothing else; run by test_built.py.

It stands alone on purpose (no pytest, nothing of the source tree): `python smoke.py` in an empty folder.
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import subprocess
import sys
from pathlib import Path


def check(holds: object, what: str) -> None:
    """Stop with a sentence when something does not hold."""
    if not holds:
        raise SystemExit(f"smoke: {what}")


def run(*words: str) -> str:
    """Run the installed command and return what it printed."""
    command = Path(sys.executable).with_name("toolog")
    done = subprocess.run([str(command), *words], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"toolog {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def lookup(word: str, password: str) -> dict[str, object]:
    """Answer as a tool would."""
    return {"word": word, "length": len(word)}


def main() -> None:
    """Check imports, data files, entry points, and one recorded call."""
    import toolog
    import toolog.schemas

    where = Path(toolog.__file__).parent
    check("site-packages" in where.parts, f"toolog came from {where}, not from what was installed")
    check((where / "py.typed").is_file(), "py.typed is missing")
    schema = importlib.resources.files("toolog.schemas").joinpath("toolog-record.v1.schema.json")
    check(json.loads(schema.read_text("utf-8")).get("$id"), "the schema is missing or has no $id")
    points = importlib.metadata.distribution("toolog").entry_points
    check(points.select(group="console_scripts", name="toolog"), "the command has no entry point")
    check(points.select(group="pytest11", name="toolog"), "the pytest plugin has no entry point")
    check(importlib.metadata.version("toolog") in run("--version"), "--version does not tell the version")
    check(json.loads(run("schema"))["$id"], "toolog schema prints no schema")

    toolog.configure("dev", sinks={"store": {"type": "sqlite", "path": ".toolog/calls.db"}})
    tool = toolog.tool(lookup)
    check(
        tool("lamp", password="not-to-be-seen") == {"word": "lamp", "length": 4},
        "the tool answered something else",
    )
    check(toolog.flush(10), f"not everything was stored: {toolog.stats()}")
    rows = [json.loads(line) for line in run("tail", "--json").splitlines()]
    check([row["tool_name"] for row in rows] == ["lookup"], f"one record was expected: {rows}")
    check("not-to-be-seen" not in json.dumps(rows), "a password was stored in clear")
    toolog.validate(rows[0])
    print("smoke: ok")


if __name__ == "__main__":
    main()
