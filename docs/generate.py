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
    """Return the page of the command line: what each command does, its options, an example."""
    import toolog.cli
    from toolog.cli.group import COMMANDS, root

    parts = [NOTE, "# Command line\n\n", f"{root.help}\n\n| command | |\n|---|---|\n"]
    parts += [f"| [`toolog {name}`](#toolog-{name}) | {short} |\n" for name, short in COMMANDS.items()]
    codes = inspect.cleandoc(toolog.cli.__doc__ or "").partition("Exit codes")[2]
    parts.append("\n## Exit codes\n\n" + _fenced(inspect.cleandoc(codes.partition("\n\n")[2])))
    above = click.Context(root, info_name="toolog")
    for name in COMMANDS:
        command = root.get_command(above, name)
        assert command is not None
        parts += _describe(command, name)
    return "".join(parts)


def _describe(command: click.Command, name: str) -> Iterator[str]:
    arguments = [str(one.metavar) for one in command.params if isinstance(one, click.Argument)]
    yield f"\n## toolog {name}\n\n"
    yield _fenced(" ".join(["toolog", name, "[OPTIONS]", *arguments]), "text")
    text, _, example = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    yield f"\n{text.strip()}\n\n{_fenced(inspect.cleandoc(example), 'sh')}"
    yield "\n| option | |\n|---|---|\n"
    for option in command.params:
        if isinstance(option, click.Option):
            value = "" if option.is_flag else f" {_value_of(option)}"
            default = f" Default: {option.default}." if option.show_default else ""
            yield f"| `{', '.join(option.opts)}{value}` | {option.help}{default} |\n"


def _value_of(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "/".join(map(str, option.type.choices))
    return "NUMBER" if isinstance(option.type, click.IntRange) or option.type is click.INT else "PATH"


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
    import toolog.testing

    lines = [
        NOTE,
        "# Python interface\n\n",
        "What `import toolog` offers; its exceptions are in [errors.md](errors.md).\n",
    ]
    for name in toolog.__all__:
        thing = getattr(toolog, name)
        if isinstance(thing, type) and issubclass(thing, Exception):  # these have a page of their own
            continue
        lines.append(f"\n## toolog.{name}\n\n")
        if callable(thing):
            lines.append(_fenced(f"{name}{_signature_of(thing)}", "text"))
        lines.append("\n" + inspect.cleandoc(getattr(thing, "__doc__", "") or "") + "\n")
    guide = "[Test your tools](../how-to/test-your-tools.md)"
    lines.append(
        f"\n# For your own tests\n\nWhat `toolog.testing` offers; {guide} shows it at work. With pytest\n"
        "there are also the fixture `toolog_records` and the mark `toolog`.\n"
    )
    for name in toolog.testing.__all__:
        thing = getattr(toolog.testing, name)
        lines.append(f"\n## toolog.testing.{name}\n\n" + _fenced(f"{name}{_signature_of(thing)}", "text"))
        lines.append("\n" + inspect.cleandoc(thing.__doc__) + "\n")
    return "".join(lines)


class _Written:
    """An annotation as it stands in the source, without the quotes that `from __future__` gives it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature_of(thing: Callable[..., object]) -> str:
    found = inspect.signature(thing)
    parameters = [
        one.replace(annotation=_Written(one.annotation)) if isinstance(one.annotation, str) else one
        for one in found.parameters.values()
    ]
    answer = found.return_annotation
    answer = _Written(answer) if isinstance(answer, str) else answer
    text = str(found.replace(parameters=parameters, return_annotation=answer))
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


def write_frameworks() -> str:
    """Return the page of agent frameworks, from the adapters' tables."""
    from toolog.instrumentation.frameworks import adapters

    lines = [
        NOTE,
        "# Agent frameworks\n\n",
        'What `toolog.instrument("name")` knows, and `toolog run` where nothing is named. How each is used: '
        "[how-to](../how-to/frameworks/README.md).\n\n",
        "The last column has the versions that `make frameworks` runs an adapter's tests with. An oldest "
        "version that does not stand there has the layers, but no test runs with it.\n\n",
        "| name | also | package | oldest version | run with |\n|---|---|---|---|---|\n",
    ]
    run = _versions_run()
    tables = [adapters()[name] for name in sorted(adapters())]
    for adapter in tables:
        others = dict.fromkeys((adapter.distribution, *adapter.aliases))
        aliases = ", ".join(f"`{name}`" for name in others if name != adapter.name)
        found = {version for name in {adapter.name, adapter.distribution} for version in run.get(name, ())}
        assert adapter.tested in found, f"no environment has {adapter.name} {adapter.tested}"
        shown = ", ".join(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))
        versions = f"{adapter.minimum} | {shown}"
        lines.append(f"| `{adapter.name}` | {aliases} | {adapter.distribution} | {versions} |\n")
    for adapter in tables:
        lines.append(f"\n## {adapter.name}\n\n{' '.join(adapter.recorded.split())}\n")
        if adapter.not_recorded:
            lines.append(f"\nNot recorded: {' '.join(adapter.not_recorded.split())}\n")
        lines.append("\n| layer | what it does |\n|---|---|\n")
        lines += [f"| `{entry.place}` | {entry.role} |\n" for entry in adapter.entries]
        if adapter.tools:
            shown = ", ".join(f"`{place.replace(':', '.')}`" for place in adapter.tools)
            lines.append(f"\nObjects and subclasses of these go by this table without being told: {shown}.\n")
    return "".join(lines)


def _versions_run() -> dict[str, set[str]]:
    """Return the versions of each package in the environments that the frameworks' tests are run in."""
    found: dict[str, set[str]] = {}
    for file in (HERE.parent / "tests" / "frameworks" / "environments").glob("*.txt"):
        for line in file.read_text("utf-8").splitlines():
            package, exact, version = line.partition("==")
            if exact and not line.startswith("#"):
                found.setdefault(package, set()).add(version)
    return found


PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": write_cli,
    "reference/configuration.md": write_configuration,
    "reference/record.md": write_record,
    "reference/errors.md": write_errors,
    "reference/api.md": write_api,
    "reference/frameworks.md": write_frameworks,
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
