"""What languages write before a value, or in its place, and LDIF's values in base64."""

from __future__ import annotations

import pytest

from toolog.sanitize import default
from toolog.sanitize.notations import anchors_of, base64_end, heredoc_span, literal_start, value_start


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("&main x1y2", "x1y2"),
        ("&main 'x1 y2'", "'x1 y2'"),
        ("!!str 4821", "4821"),
        ("&a !!str x1 # old", "x1 # old"),
        ("!vault |\n  6231", "|\n  6231"),
        ("&a7 and more words", "&a7 and more words"),
        ("*other", "*other"),
        ("x1y2", "x1y2"),
    ],
)
def test_a_name_and_a_kind_before_a_value_are_passed_over(text: str, value: str) -> None:
    """What only looks like them, and an alias of nothing, is the value itself."""
    assert text[value_start(text, 0, frozenset({"main"})) :] == value


@pytest.mark.parametrize(
    "text", ["*main", "*main # same", "!Ref Name", '!Sub "${A}"', "!secret name", "&str", "&String,"]
)
def test_a_value_that_stands_elsewhere_is_none(text: str) -> None:
    """An alias of a name that was given, a tag that fetches a value, a type."""
    assert value_start(text, 0, anchors_of("a: &main x1\n")) == -1


def test_base64_of_ldif_ends_with_its_last_line() -> None:
    """Lines that begin with a blank go on; a word in small letters is no value."""
    text = "VGFubmVf\n NDQ3MV9EcnVjaw==\ncn: a"
    assert text[: base64_end(text, 0)] == "VGFubmVf\n NDQ3MV9EcnVjaw=="
    assert base64_end("parser", 0) == 0


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ('Some("x1y2")', '"x1y2")'),
        ("SecretStr('x1y2')", "'x1y2')"),
        ('new SecretString("x1y2")', '"x1y2")'),
        ('\n  string(4) "x1y2"', '"x1y2"'),
        ('getenv("X1Y2")', 'getenv("X1Y2")'),
        ('Some("")', 'Some("")'),
    ],
)
def test_what_is_around_a_literal_is_passed_over(text: str, literal: str) -> None:
    """A call that fetches a value is none, and neither is a wrapper of nothing."""
    assert text[literal_start(text, 0) :] == literal


@pytest.mark.parametrize("head", ["<<EOT\n", "<<-'EOT'\n", "<<~EOT\r\n"])
def test_the_lines_of_a_here_document_are_its_value(head: str) -> None:
    """They end where the word of its head stands alone; a reference, or one without an end, is none."""
    text = head + "  x1 y2\n  EOT\nz"
    span = heredoc_span(text, 0)
    assert span is not None
    assert text[slice(*span)] == "x1 y2"
    assert heredoc_span(head + "${X1}\nEOT\n", 0) is None
    assert heredoc_span(head + "x1 y2\n", 0) is None


@pytest.mark.parametrize(
    "text",
    [
        'api_key: str = "Zq9-inv77"',
        'const apiKey: string = "Zq9-inv77";',
        'let api_key: &\'static str = "Zq9-inv77";',
        'api_key: str | None = "Zq9-inv77"',
        'api_key: Optional[str] = SecretStr("Zq9-inv77")',
        'secret_key = """\nZq9-inv77\n"""',
        "secret_key = '''Zq9-inv77'''",
        "PASSWORD = N'Zq9-inv77'",
        "API_KEY=${OTHER:-Zq9-inv77}",
        'API_KEY="${OTHER:-Zq9-inv77}"',
        "db_password = <<EOT\nZq9-inv77\nEOT\n",
    ],
)
def test_a_literal_is_found_behind_whatever_stands_before_it(text: str) -> None:
    """Types, quotes of more than one sign and defaults of variables do not keep a value from being found."""
    clean = default().sanitize(text)
    assert "Zq9" not in clean
    assert default().sanitize(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "api_key: str",
        "password: str = None",
        "token: Optional[str] = None",
        "api_key: str = os.environ['API_KEY']",
        "API_KEY=${OTHER:-}",
        "API_KEY=${OTHER:-none}",
        "type Secret = 'none' | 'env' | 'file';",
        "secret = random_password.db.result",
        "src/token.py:12:    token = read()",
        "arn:aws:secretsmanager:eu-west-1:111122223333:secret:prod/db-7xZ",
    ],
)
def test_what_only_says_where_a_value_comes_from_stays(text: str) -> None:
    """Types, references, places in sources and names of resources show no secret."""
    assert default().sanitize(text) is text
