"""What YAML writes before a value, or in its place, and LDIF's values in base64."""

from __future__ import annotations

import re

_BASE64 = re.compile(
    r"[A-Za-z0-9+/]{4,4096}+={0,2}(?:\r?\n[ ][A-Za-z0-9+/]{1,256}+={0,2}(?=[\r\n]|$)){0,64}+"
)
#: Before a value of YAML: a name for it, or its kind.
_PROPERTIES = re.compile(
    r"(?:(?:&[A-Za-z_][\w-]{0,63}|!!(?:str|binary)|!(?:vault|unsafe))[ \t]{1,4}){1,2}+"
    r"(?=[\"']|[|>][-+0-9]{0,2}[ \t]*[\r\n]|[^\s\"'#]{1,4096}+[ \t]*+(?:#[^\r\n]*+)?(?:[\r\n]|\\{1,8}[nr]|$))"
)
_ANCHOR = re.compile(r"&([A-Za-z_][\w-]{0,63})[ \t]")
_ALIAS = re.compile(r"\*([A-Za-z_][\w-]{0,63})[ \t]*(?=[\r\n#,}\]]|\\{1,8}[nr]|$)")
#: A value that stands elsewhere, by tags of well-known programs; and what types of Rust begin with.
_ELSEWHERE = re.compile(
    r"!(?:Ref|GetAtt|ImportValue|reference|secret|env_var|ENV|include)[ \t]|!Sub[ \t]{1,4}[\"']?\$"
    r"|&(?:str|String)(?![\w-])(?![ \t]{1,4}[^\s={,)])"
)


def anchors_of(text: str) -> frozenset[str]:
    """Answer the names that values of YAML were given (`password: &main x1`)."""
    return frozenset(_ANCHOR.findall(text))


def value_start(text: str, start: int, anchors: frozenset[str]) -> int:
    """Answer where a value of YAML begins behind its name and kind; -1 when it stands elsewhere.

    :param start: where what stands behind the colon and its blanks begins.
    :param anchors: the names of the text, of which one stands for its value.
    """
    alias = _ALIAS.match(text, start)
    if (alias is not None and alias.group(1) in anchors) or _ELSEWHERE.match(text, start):
        return -1
    properties = _PROPERTIES.match(text, start)
    return properties.end() if properties else start


def base64_end(text: str, start: int) -> int:
    """Answer where a value of LDIF in base64 ends, which may go on behind a blank on the next lines; `start`
    when it is a word."""
    encoded = _BASE64.match(text, start)
    return start if encoded is None or encoded.group().islower() else encoded.end()
