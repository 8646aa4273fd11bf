"""How a secret is written elsewhere: as such, escaped for JSON or Python, URL-quoted, in base64."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

#: What every notation but base64 leaves as it is.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")
#: What `encodeURIComponent` of JavaScript leaves as it is, beyond that.
_LEFT_BY_BROWSERS = "!'()*"
_LEAST_CORE = 8


def spellings(secret: str) -> set[str]:
    """Answer every spelling of a secret, itself among them: JSON-escaped once and twice, as Python's `repr`
    has it, URL-quoted once and twice, base64 at any offset."""
    raw = secret.encode("utf-8", "replace")
    found = {secret, *_cores(raw)}
    if _PLAIN.fullmatch(secret):
        return found
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    escaped |= {text.replace("/", "\\/") for text in escaped}
    found |= escaped | {json.dumps(text)[1:-1] for text in escaped} | {repr(secret)[1:-1]}
    quoted = quote(raw, safe="")
    return found | {quoted, quote(quoted, safe=""), quote(raw), quote(raw, safe=_LEFT_BY_BROWSERS)}


def _cores(raw: bytes) -> set[str]:
    """Answer what is the same in every base64 text that holds some bytes."""
    cores: set[str] = set()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        core = text[(0, 2, 3)[offset] :]
        core = core if (len(raw) + offset) % 3 == 0 else core[:-1]
        if len(core) >= _LEAST_CORE:
            cores |= {core, core.replace("+", "-").replace("/", "_")}
    return cores
