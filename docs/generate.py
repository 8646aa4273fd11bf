"""Write the reference pages that come from the code.

    python docs/generate.py           write them
    python docs/generate.py --check   exit code 1 when one of them is not what the code says

Each page is a function that returns its text. A change of a command, a setting, an error or the schema is a
change of its page, and the tests compare the two.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py; change the code, not this page. -->\n\n"


def write_cli() -> str:
    """Return the page of the command line: what each command's `--help` says, and the exit codes."""
    import toolog.cli
    from toolog.cli.group import COMMANDS, root

    parts = [NOTE, "# Command line\n\n", _fenced(_help_of(root, "toolog", None))]
    codes = inspect.cleandoc(toolog.cli.__doc__ or "").partition("Exit codes")[2]
    parts.append("\n## Exit codes\n\n" + _fenced(inspect.cleandoc(codes.partition("\n\n")[2])))
    with click.Context(root, info_name="toolog", terminal_width=100) as above:
        for name in COMMANDS:
            command = root.get_command(above, name)
            assert command is not None
            parts.append(f"\n## toolog {name}\n\n" + _fenced(_help_of(command, name, above)))
    return "".join(parts)


def _help_of(command: click.Command, name: str, above: click.Context | None) -> str:
    with click.Context(command, info_name=name, parent=above, terminal_width=100) as context:
        return command.get_help(context)


def write_errors() -> str:
    """Return the page of errors: the tree, and what each one means."""
    from toolog import errors

    tree = inspect.cleandoc(errors.__doc__ or "")
    lines = [NOTE, "# Errors\n\n", "The exceptions of `toolog.errors`.\n\n", _fenced(_indented(tree)), "\n"]
    lines.append(
        inspect.cleandoc(tree.rpartition("\n\n")[2]) + "\n\n| error | derives from | means |\n|---|---|---|\n"
    )
    for kind in _error_types(errors.ToologError):
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        means = " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
        lines.append(f"| `{kind.__name__}` | {bases} | {means} |\n")
    return "".join(lines)


def _error_types(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for kind in root.__subclasses__():
        if kind.__module__ == root.__module__:
            yield from _error_types(kind)


def _indented(text: str) -> str:
    """Return the part of a docstring that is indented as a drawing."""
    rows = [row for row in text.splitlines() if row.startswith("    ")]
    return inspect.cleandoc("\n".join(rows))


def write_api() -> str:
    """Return the page of public names: signature and docstring of each."""
    import toolog

    lines = [
        NOTE,
        "# Python interface\n\n",
        "What `import toolog` offers. Names are loaded when they are first used.\n",
    ]
    for name in toolog.__all__:
        thing = getattr(toolog, name)
        if name.startswith("__") or inspect.ismodule(thing):
            continue
        lines.append(f"\n## toolog.{name}\n\n")
        if callable(thing):
            lines.append(_fenced(f"{name}{_signature_of(thing)}", "text"))
        lines.append("\n" + inspect.cleandoc(getattr(thing, "__doc__", "") or "") + "\n")
    return "".join(lines)


def _signature_of(thing: Callable[..., object]) -> str:
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    if len(text) <= 90:
        return text
    inside, _, after = text[1:].rpartition(")")
    return "(\n    " + _split_top_level(inside) + f",\n){after}"


def _split_top_level(parameters: str) -> str:
    """Return a list of parameters with one on each line; commas inside brackets stay."""
    depth, pieces = 0, [""]
    for char in parameters:
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return ",\n    ".join(piece.strip() for piece in pieces)


def _fenced(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text.strip(chr(10))}\n```\n"


def write_configuration() -> str:
    """Return the page of all parameters, from their table."""
    from toolog.settings import reference

    return reference.write()


def write_record() -> str:
    """Return the page of the record, from the schema."""
    sys.path.insert(0, str(HERE))
    try:
        import record_page
    finally:
        sys.path.remove(str(HERE))
    text: str = record_page.write_record()
    return text


PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": write_cli,
    "reference/configuration.md": write_configuration,
    "reference/record.md": write_record,
    "reference/errors.md": write_errors,
    "reference/api.md": write_api,
}


def main(check: bool) -> int:
    """Write or check every page and return the exit code."""
    stale = []
    for name, write in PAGES.items():
        file, text = HERE / name, write()
        if check and (not file.exists() or file.read_text("utf-8") != text):
            stale.append(name)
        elif not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    for name in stale:
        print(f"docs/{name} is not what the code says; run: python docs/generate.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
