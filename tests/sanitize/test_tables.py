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
    ' id | api_token\n----+-----------\n  7 | Zq9-inv77\n(1 row)\n',
]


@pytest.mark.parametrize("text", TABLES)
def test_the_value_below_or_beside_its_name_is_hidden(text: str) -> None:
    """Columns and rows are read as such; masking again changes nothing."""
    clean = default().sanitize(text)
    assert WORD not in clean
    assert default().sanitize(clean) == clean
