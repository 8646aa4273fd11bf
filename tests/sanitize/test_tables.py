# fmt: off
"""Secrets in tables that are text, whatever parts their cells."""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import default

WORD = "Zq9-inv77"
#: Each holds one secret, which stands below or beside its name.
TABLES: list[Any] = [
    '名前,パスワード\nbo,Zq9-inv77\n',
    'user  password\nbo    Zq9-inv77\n',
    'USER      PASSWORD     ROLE\nbo        Zq9-inv77    dba\n',
    'Key        Value\n---        -----\npassword   Zq9-inv77\n',
    ' password\n-----------\n Zq9-inv77\n(1 row)',
    '┏━━━━┳━━━━━━━━━━━┓\n┃ id ┃ password  ┃\n┡━━━━╇━━━━━━━━━━━┩\n│ 1  │ Zq9-inv77 │\n└────┴───────────┘',
    '+----+-----------+\n| id | password  |\n+----+-----------+\n| 1  | Zq9-inv77 |\n+----+-----------+',
    'User name,Access key ID,Secret access key\nbo,7,Zq9-inv77\n',
    '"Name";"Client secret";"Until"\n"bo";"Zq9-inv77";"2025"\n',
    'host\troot password\tsite\nnas\tZq9-inv77\tGraz\n',
    '┌────┬─────────┐\n│ id │ api_key │\n│ int32 │ varchar │\n'
    '├────┼─────────┤\n│ 1 │ Zq9-inv77 │\n└────┴─────────┘',
    '<table><tr><th>Host</th><th>Password</th></tr>'
    '<tr><td>a</td><td><code>Zq9-inv77</code></td></tr></table>',
    ' id | api_token\n----+-----------\n  7 | Zq9-inv77\n(1 row)\n',
]


@pytest.mark.parametrize("text", TABLES)
def test_the_value_below_or_beside_its_name_is_hidden(text: str) -> None:
    """Columns and rows are read as such; masking again changes nothing."""
    clean = default().sanitize(text)
    assert WORD not in clean
    assert default().sanitize(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "NAME          UPDATED\nDEPLOY_TOKEN  about 2 months ago\nNPM_TOKEN     yesterday\n",
        "name,password policy,token count\nweb,strong7,12\n",
        "<table><tr><th>Password</th></tr><tr><td></td></tr><tr><td>required</td></tr></table>",
    ],
)
def test_tables_that_only_talk_about_secrets_stay(text: str) -> None:
    """Lists of names, and columns of what is told of secrets, come back as the very same object."""
    assert default().sanitize(text) is text
