"""Values of more than one word or line behind a name: blocks of YAML, and braces of connection strings."""

from __future__ import annotations

import re

from toolog.sanitize.plausible import is_mask, is_reference

#: A block of YAML: its sign, and all lines that stand as far in as the first.
_BLOCK_SIGN = re.compile(r"[|>][-+0-9]{0,2}[ \t]{0,8}(?:#[^\r\n]{0,200})?\r?\n(?P<indent>[ \t]{1,64}+)")
_BLOCK = re.compile(_BLOCK_SIGN.pattern + r"(?P<value>[^\s][^\r\n]*+(?:\r?\n(?P=indent)[^\r\n]*+)*+)")
#: The same without a sign: one word on the next line.
_NEXT_LINE = re.compile(
    r"\r?\n(?P<indent>[ \t]{1,64}+)(?P<value>[^\s\"'`<>{}\[\]#|-][^\s\"'`<>{}\[\]]{3,4096}+)"
    r"[ \t]*+(?=[\r\n]|$)"
)
#: A value in braces, as ODBC takes one with signs in it.
_BRACED = re.compile(r"\{(?:[^{}\r\n\"']|\}\}){1,512}+\}(?=[;\s\"']|$)")
#: The members of a type, or of an object.
_MEMBERS = re.compile(r"\{\s*[\w.-]+\??\s*:\s")
_VARIABLE = re.compile(r"\{\{?[\w. -]*\}?\}")


def braced_span(text: str, name_at: int, start: int) -> tuple[int, int] | None:
    """Find the value in braces of a part of a connection string, which a semicolon parts from others."""
    braced = _BRACED.match(text, start)
    if braced is None or _VARIABLE.fullmatch(braced.group()) or _MEMBERS.match(braced.group()):
        return None
    return (
        braced.span() if ";" in (text[name_at - 1 : name_at], text[braced.end() : braced.end() + 1]) else None
    )


def block_span(text: str, name_at: int, start: int) -> tuple[int, int] | None:
    """Find the value below a name, in lines that stand further in than the name does."""
    alone = text[start] in "\r\n"
    head = (_NEXT_LINE if alone else _BLOCK_SIGN).match(text, start)
    line = text.rfind("\n", max(0, name_at - 200), name_at)
    if head is None or len(head.group("indent")) < name_at - line:
        return None  # what follows stands beside the name, and not below it
    block = head if alone else _BLOCK.match(text, start)
    value = block.group("value") if block else ""
    if block is None or is_mask(value) or is_reference(value):
        return None
    if alone and (value[-1] == ":" or not any(map(str.isdigit, value))):
        return None
    return block.span("value")
