"""What dense texts cost the sanitizer: texts made to be slow, of many kinds, in doubling sizes.

Each row is one kind of text, or of record: the milliseconds of processor time for each size, the best of
some runs, and how much longer the largest takes than the one half as long (2.0 is linear). A text stands
behind one secret of each kind, so that every finder reads it; `--alone` leaves them out.

    python benchmarks/hostile.py [--json] [--alone] [--kinds WORD ...] [--sizes 50 100 200 400]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolog import Sanitizer

#: What a kind repeats: a piece, or a function from a number to a piece, so that no two are alike.
PIECES: dict[str, str | Callable[[int], str]] = {
    "assignments, clean": "key=value ",
    "assignments, numbered": lambda n: f"key{n}=value{n} ",
    "assignments, sensitive, empty": "password= ",
    "assignments, sensitive, masked": "password=[MASKED:password] ",
    "assignments, sensitive, reference": "password=${DB_PASSWORD} ",
    "assignments, secrets": lambda n: f"password=k{n}x ",
    "colons, prose": "token: expired ",
    "colons, secrets": lambda n: f"api_key: Zq9-{n}\n",
    "words, sensitive": "password token secret ",
    "words, plain": "walnut lamp with a linen shade ",
    "words, one letter": "a b c d ",
    "names, harmless": "max_tokens=512 token_type=x ",
    "names, pairs": "api key session id ",
    "names, long": "password_" * 11 + " ",
    "names, no end": "password_",
    "digits": "1234567890",
    "digits, blanks": "1234 5678 ",
    "digits, phones": lambda n: f"1391234{n % 10000:04} ",
    "digits, not phones": "23456789012 ",
    "digits, cards": "4111 1111 1111 1112 ",
    "digits, ssn": "000-12-3456 ",
    "digits, plus": "+49 30 1234 ",
    "quotes": '"',
    "quotes, mixed": "\"'`",
    "quotes, assigned": "password=\"'",
    "quotes, escaped": '\\"',
    "quotes, backslashes": 'password=\\\\"',
    "json text": lambda n: f'{{"id":{n},"token":null}},',
    "json text, secrets": lambda n: f'{{"id":{n},"token":"Zq9-{n}"}},',
    "json text, nested": '{"a":[',
    "json text, in json": '{\\"a\\":\\"{\\\\\\"token\\\\\\":null}\\"},',
    "urls": lambda n: f"https://example.com/a/{n}?page={n} ",
    "urls, users": "https://user@example.com/ ",
    "urls, secrets": lambda n: f"https://example.com/?token=k{n}x&b=1 ",
    "urls, parameters": "&a=1",
    "urls, encoded": "%26a%3D1",
    "urls, twice encoded": "%2526token%253D",
    "emails": lambda n: f"a{n}@example.com ",
    "emails, none": "a@b ",
    "at signs": "@",
    "dots": "a.a.a.",
    "vendor prefix": "sk-" * 2,
    "vendor keys": lambda n: "sk-" + f"a1b2c3d4e5f6g7h8i9{n:06} ",
    "jwt heads": "eyJ",
    "jwts": lambda n: f"eyJhbGciOi{n:06}.eyJzdWIi{n:06}.c2ln{n:06} ",
    "armour": "-----BEGIN " + "PRIVATE KEY-----\n",
    "bearer": lambda n: f"Bearer abcdef{n:06} ",
    "basic": "Basic aaaaaaaa ",
    "headers": "Authorization: x\n",
    "cookies": "Cookie: a=b; ",
    "tags": "<a b='c'>",
    "tags, settings": "<input name='token' value='x1'>",
    "markup": "<password>x</password>",
    "tables": "|a|password|\n",
    "csv": "a,password,b\n",
    "lines": "\n",
    "sql": "insert into t (a,password) values (1,'x');",
    "flags": "--password x1 ",
    "brackets": "[{(",
    "masks": "[MASKED:token] ",
    "chinese": "密码是",
    "chinese, prose": "请输入您的订单号和收货地址。",
    "chinese, secrets": lambda n: f"密码：k{n}x ",
    "cyrillic": "пароль ",
    "fullwidth": "１３８",
    "mathematical": "𝐩𝐚𝐬𝐬",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "hex": "deadbeef0123",
    "iban": "GB82 WEST 1234 5698 7654 31 ",
    "blanks": " ",
    "python": 'def f(token: str, password="x"): return token\n',
    "calls": 'setPassword("x", ',
    "calls, no end": "password(a,",
    "calls, secrets": lambda n: f'login("ann", "k{n}x");',
    "typed": "page.fill('#password', 'x1');",
    "typed, no end": ".fill('.fill(\"",
    "steps": '"Password" with "',
    "validators": "password\n  no [type=a, input_value='x1', input_type=str]\n",
    "validators, no end": "password\n  [type=a, input_value=",
    "instances": "On instance['password']:\n    'x1'\n",
    "arguments": "'--password', 'x1', ",
    "json in base64": "eyJwYXNzd29yZCI6IlpxOS1pbnYifQ== ",
    "hashes": "$6$a.b/",
    "elements": "<password a",
    "assignments, odd signs": lambda n: f"k{n}:=v{n}; token_{n}=:x ",
    "assignments, spoken": lambda n: f"password is k{n}x9 ",
    "assignments, hidden": "password=******** ",
    "assignments, arrows": 'password: "a" -> "b1"\n',
    "assignments, blocks": "password: |\n  x1\n",
    "assignments, braces": "Pwd={c1};",
    "words, is": "the password is the token is ",
    "words, of": "password of token for secret to ",
    "labels, two words": "API key: ",
    "labels, three words": "clé d'api: ",
    "labels, phones": lambda n: f"phone: 555{n:06}, ",
    "keywords": ':password "x1" ',
    "names, distinct": lambda n: f"user{n}_password_{n}=x{n} ",
    "names, distinct, empty": lambda n: f"user{n}_password= ",
    "names, of all scripts": lambda n: chr(0x4E00 + n % 20_000) + chr(0x400 + n % 200) + "：",
    "korean": "비밀번호는 abc123 ",
    "arabic": "كلمة المرور: abc123 ",
    "digits, of all scripts": "१२३ ٤٥٦ ７８９ ",
    "digits, plus, long": "+1-2-3-4-5-6-7-8-9 ",
    "digits, resident ids": "110101199003071234 ",
    "iban, valid": "GB82 WEST 1234 5698 7654 32 ",
    "quotes, layers": '\\\\\\"token\\\\\\":\\\\\\"a1\\\\\\",',
    "quotes, entities": "&quot;password&quot;: &quot;x1&quot;, ",
    "escapes": "%0A%22%7B",
    "json text, empty": '"password": null, "token": "", ',
    "urls, distinct": lambda n: f"&token{n}=x{n}",
    "urls, signs": "&token=&a=?b=",
    "urls, odd passwords": "a://b:c#d@ ",
    "headers, lists": '["Authorization", "Bearer abcdef123456"], ',
    "headers, basic": "Authorization: Basic dXNlcjpwYXNz\n",
    "tags, attributes": "<add key='Password' value='x1'/>",
    "tables, boxes": "│ a │ password │\n",
    "tables, tabs": "a\tpassword\tb\n",
    "tables, columns": "password\n--------\nx1y2z3\n",
    "csv, quoted": '"a","password","b"\n',
    "items": "- name: TOKEN\n  value: ",
    "variables": 'variable "db_password" { default = "x1" }\n',
    "flags, bare": "--token --password -p --api-key ",
    "flags, of programs": "ssh-keygen -N x ",
    "programs": "mysql -u root ",
    "programs, http": "http http http ",
    "programs, netrc": "machine a login b password c1 ",
    "devices": "password 7 a1b2c3d4e ",
    "python, types": "password: str = 'x1', token: Optional[str] = None, ",
    "python, environment": "token = os.environ['TOKEN']\n",
    "identified": "identified by ",
    "steps, filled in": 'fill_in "Password", with: "x1"\n',
    "traceback": '  File "a.py", line 3, in f\n    login(user, password)\n',
    "log": lambda n: f"2024-05-01T10:00:{n % 60:02} INFO step={n} total_tokens={n * 7} auth=ok\n",
}
#: What names told stands again in the rest of a record: records of about so many characters.
RECORDS: dict[str, Callable[[int], Any]] = {
    "echoes, prose": lambda size: _told(_WORDS * (size // len(_WORDS))),
    "echoes, alike": lambda size: _told("Zq-made/ab+" * (size // 11)),
    "echoes, lists": lambda size: _told([_WORDS] * (size // len(_WORDS))),
    "echoes, rows": lambda size: _told([{"id": n, "note": "lamp Zq07-made/ab+7"} for n in range(size // 50)]),
    "rows": lambda size: [{"id": n, "password": f"k{n}x", "name": "ann"} for n in range(size // 40)],
    "pairs": lambda size: [[f"token{n}", f"k{n}x"] for n in range(size // 20)],
}
SIZES = (50, 100, 200, 400)
_WORDS = "walnut lamp with a linen shade Zq03-made/ab+3 "
#: One secret of each kind, none of them real: behind them every finder runs.
SECRETS = " ".join((
    "＠ password=Zq9-inv https://bob:Zq9-inv@example.com/?token=Zq9-inv dana@example.com",
    "13800138000 +49 30 901820 4111 1111 1111 1111, 219-09-9999 11010119900307" + "7459",
    "GB82 WEST 1234 5698 7654 32 Bearer abcdef1234567 sk-" + "a1b2c3d4e5" * 3,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "https://hooks.slack.com/services/" + "T0/B0/a1b2c3d4 密码：Zq9-inv\n",
))  # fmt: skip


class Cost(NamedTuple):
    """One kind's figures: milliseconds for each size, and the growth from the last but one size to the
    last."""

    kind: str
    ms: dict[int, float]
    growth: float


def _told(rest: Any) -> dict[str, Any]:
    """Return a record in which names tell secrets, and something else."""
    return {"input": {f"password_{n}": f"Zq{n:02}-made/ab+{n}" for n in range(32)}, "output": rest}


def value_of(kind: str, size: int, head: str) -> Any:
    """Return a text of one kind behind a head, or a record, of about `size` characters."""
    if kind in RECORDS:
        return RECORDS[kind](size)
    return head + text_of(PIECES[kind], size - len(head))


def text_of(piece: str | Callable[[int], str], size: int) -> str:
    """Return a text of `size` characters made of one kind of pieces."""
    if isinstance(piece, str):
        return (piece * (size // len(piece) + 1))[:size]
    parts: list[str] = []
    length = number = 0
    while length < size:
        parts.append(piece(number))
        length += len(parts[-1])
        number += 1
    return "".join(parts)[:size]


def best(run: Callable[[], object], times: int) -> float:
    """Return the least milliseconds of processor time of some runs."""
    least = float("inf")
    for _ in range(times):
        started = time.process_time()
        run()
        least = min(least, time.process_time() - started)
    return least * 1e3


def measure(kinds: list[str], sizes: list[int], times: int, head: str) -> Iterator[Cost]:
    """Yield the figures of each kind, behind a head."""
    sanitizer = Sanitizer()
    sanitizer.sanitize(SECRETS)
    for kind in kinds:
        ms = {}
        for size in sizes:
            value = value_of(kind, size * 1000, head)
            ms[size] = best(lambda value=value: sanitizer.sanitize(value), times)  # type: ignore[misc]
        yield Cost(kind, ms, ms[sizes[-1]] / max(ms[sizes[-2]], 1e-3) if len(sizes) > 1 else 1.0)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, slowest kind last, or one JSON object for each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kinds", nargs="*", default=[], help="only kinds whose name holds one of these")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="thousands of characters")
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the best counts")
    parser.add_argument("--alone", action="store_true", help="without a secret of each kind in front")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    given = parser.parse_args(arguments)
    kinds = [
        kind for kind in (*PIECES, *RECORDS) if not given.kinds or any(word in kind for word in given.kinds)
    ]
    sizes = sorted(given.sizes)
    costs = list(measure(kinds, sizes, given.times, "" if given.alone else SECRETS))
    if given.json:
        for cost in costs:
            print(json.dumps(cost._asdict()))
        return
    print(f"{'ms of processor time':34}" + "".join(f"{size:>7} kB" for size in sizes) + f"{'growth':>8}")
    for cost in sorted(costs, key=lambda cost: cost.ms[sizes[-1]]):
        shown = "".join(f"{cost.ms[size]:10.1f}" for size in sizes)
        print(f"{cost.kind:34}{shown}{cost.growth:8.2f}")
    size = 200 if 200 in sizes else sizes[-1]
    worst = max(costs, key=lambda cost: cost.ms[size])
    print(f"worst at {size} kB: {worst.kind}, {worst.ms[size]:.1f} ms")


if __name__ == "__main__":
    main()
