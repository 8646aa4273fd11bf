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
]


@pytest.mark.parametrize("text", ITEMS)
def test_the_value_of_a_sensitive_item_is_hidden(text: str) -> None:
    """The part that says the name decides on the part that says the value."""
    clean = default().sanitize(text)
    assert WORD not in clean
    assert default().sanitize(clean) == clean


def test_words_below_a_sensitive_name_in_a_page_stay() -> None:
    """Headings and labels of a page have names, too; what they hold is no value."""
    page = '<h2 id="api-key">API key</h2><label for="password" id="password">Password</label>'
    assert default().sanitize(page) is page
