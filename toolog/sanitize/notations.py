"""What languages write before a value, or in its place: YAML's names and kinds, types of declarations, what
is wrapped around a literal, here-documents; and LDIF's values in base64.
"""

from __future__ import annotations

import re

from toolog.sanitize.plausible import is_mask, is_reference

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
#: The type of what is declared, before a sign and a literal: `api_key: str = "x1"`.
TYPED = (
    r"[?!]?[ \t]{0,4}:[ \t]{0,4}&?(?:'static[ ])?[A-Za-z_][\w.]{0,40}+"
    r"(?:\[[\w, .|]{0,60}+\]|<[\w, .]{0,60}+>)?+[?!]?"
    r"(?:[ ]\|[ ][A-Za-z]{1,20}+){0,3}+(?=[ \t]{0,4}=[ \t]{0,4}(?:[A-Za-z]{1,20}\()?[bruf]?[\"'])"
)
#: What is put around a literal, or before it where PHP shows what it holds.
_WRAPPED = re.compile(
    r"(?:new[ ])?(?:Some|Ok|Just|Optional|Secret(?:Str|String|Bytes|Value|Text)?|Password|Sensitive"
    r"|String(?:::from)?|str|bytes|Buffer\.from|ByteString|ProtectedString)[ ]?\([ ]?(?=b?\\{0,8}[\"'][^\"'])"
    r"|Just[ ](?=\\{0,8}[\"'][^\"'])"
    r"|\s{0,16}string\([0-9]{1,5}\)[ ](?=\")"
)
#: A value that may be missing, as it is shown without quotes: `Some(x1y2)`, `Optional[x1y2]`.
_HELD = re.compile(
    r"(?:Some|Optional|Just|Present|Right|Ok)[(\[]"
    r"(?P<value>(?=[^\s()\[\]]{0,100}[0-9])[^\s()\[\]\"'`]{4,512}+)[)\]]"
)
_WRAPPING = frozenset("SOJPnsbB\r\n\t ")
_HEREDOC = re.compile(r"<<[-~]?[ ]?[\"']?(?P<end>[A-Za-z_]\w{0,40})[\"']?[ \t]*\r?\n")
_MOST_LINES = 8192


def literal_start(text: str, start: int) -> int:
    """Answer where the literal begins that stands in a wrapper of well-known languages (`Some("x1")`), or
    `start`."""
    wrapped = _WRAPPED.match(text, start) if text[start : start + 1] in _WRAPPING else None
    return wrapped.end() if wrapped else start


def held_span(text: str, start: int) -> tuple[int, int] | None:
    """Answer where a value stands that is shown in what holds it or nothing (`Some(x1y2)`), or None."""
    held = _HELD.match(text, start)
    if held is None or is_mask(held["value"]) or is_reference(held["value"]):
        return None
    return held.span("value")


def heredoc_span(text: str, start: int) -> tuple[int, int] | None:
    """Answer where the lines of a here-document stand, or None when there is none, or no secret in it.

    :param start: where its sign (`<<`) stands.
    """
    head = _HEREDOC.match(text, start)
    if head is None:
        return None
    end = text.find(head["end"], head.end(), head.end() + _MOST_LINES)
    value = (
        text[head.end() : end].strip()
        if end > 0 and text[head.end() - 1 : end].rstrip(" \t")[-1:] == "\n"
        else ""
    )
    if not value or is_mask(value) or is_reference(value) or "[MASKED:" in value:
        return None
    begin = text.index(value, head.end())
    return begin, begin + len(value)


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
