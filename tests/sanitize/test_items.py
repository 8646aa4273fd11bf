# fmt: off
"""Items of a name and a value in text: YAML, broken JSON, XML, property lists, Terraform."""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import default

WORD = "Zq9-inv77"
#: Each holds one secret, which another part names.
ITEMS: list[Any] = [
    'env:\n- name: DB_PASSWORD\n  value: Zq9-inv77\n',
    'env:\n  - name: DB_PASSWORD\n    value: "Zq9-inv77"\n',
    'variable "db_password" {\n  default = "Zq9-inv77"\n}',
    '<Setting name="Password">Zq9-inv77</Setting>',
    '<property name="password">Zq9-inv77</property>',
    '<property><name>fs.s3a.secret.key</name><value>Zq9-inv77</value></property>',
    '<entry key="password">Zq9-inv77</entry>',
    '<string name="api_key">Zq9-inv77</string>',
    '<key>apiKey</key><string>Zq9-inv77</string>',
    '<key>apiKey</key>\n\t<string>Zq9-inv77</string>',
    '{"name": "password", "value": "Zq9-inv77"',
    'a:1:{s:8:"password";s:9:"Zq9-inv77";}',
    '[{user,"bo"},{password,"Zq9-inv77"}]',
    '{<<"password">>, <<"Zq9-inv77">>}',
    '{:user "bo" :password "Zq9-inv77"}',
    '(setq db-password "Zq9-inv77")',
    '  ~ password = (sensitive value) -> "Zq9-inv77"\n',
    'api_keys:\n  - Zq9-inv77\nport: 80\n',
    '<member><name>password</name><value><string>Zq9-inv77</string></value></member>',
]


@pytest.mark.parametrize("text", ITEMS)
def test_the_value_of_a_sensitive_item_is_hidden(text: str) -> None:
    """The part that says the name decides on the part that says the value."""
    clean = default().sanitize(text)
    assert WORD not in clean
    assert default().sanitize(clean) == clean


def test_names_in_a_list_of_secrets_stay() -> None:
    """A list below `secrets` says which of them are meant."""
    text = "services:\n  web:\n    secrets:\n      - db_password2\n      - api_token3\n"
    assert default().sanitize(text) is text


@pytest.mark.parametrize(
    "item", [{"label": "API key", "value": "api_key"}, {"label": "Token", "value": ""}], ids=str
)
def test_what_may_be_chosen_is_no_value(item: dict[str, str]) -> None:
    """An item of a list to choose from has a name as its value."""
    assert default().sanitize(item) is item


def test_old_and_new_values_of_a_setting_are_hidden() -> None:
    """What is told of a change has the name of the setting beside both values."""
    change = {"setting": "smtp_password", "old": WORD, "new": WORD + "x", "by": "ann"}
    mask = "[MASKED:password]"
    assert default().sanitize(change) == {"setting": "smtp_password", "old": mask, "new": mask, "by": "ann"}


def test_words_below_a_sensitive_name_in_a_page_stay() -> None:
    """Headings and labels of a page have names, too; what they hold is no value."""
    page = '<h2 id="api-key">API key</h2><label for="password" id="password">Password</label>'
    assert default().sanitize(page) is page


@pytest.mark.parametrize(
    "text",
    [
        "<ul><li><b>Password:</b> Zq9-inv77</li></ul>",
        "<dl><dt>API key</dt><dd><code>Zq9-inv77</code></dd></dl>",
        "||Login||Password||\n|qa|Zq9-inv77|\n",
        "pass `Zq9-inv77`",
        "пароль Zq9-inv77",
        "DOCKER_PASSWORD ?= Zq9-inv77",
        "le mdp c'est Zq9-inv77",
    ],
)
def test_the_value_behind_a_label_is_hidden(text: str) -> None:
    """Labels in elements of their own, in heads of wikis, and in short notes."""
    clean = default().sanitize(text)
    assert WORD not in clean
    assert default().sanitize(clean) == clean


@pytest.mark.parametrize("text", ["482913 is your verification code.", "391 204 ist Ihr Einmalcode"])
def test_a_code_that_is_told_before_what_it_is_is_hidden(text: str) -> None:
    """Short messages begin with the code."""
    assert default().sanitize(text).startswith("[MASKED:code] i")
