"""Masks a log record of any application in place: message, arguments, exception text, stack, extra
attributes.

A secret often stands half in the format (`"password=%s"`) and half in an argument. So the message is rendered
with the place of every argument known; what must be hidden is then put back as masked arguments of the same
number.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from toolog.sanitize.echoes import Echoes
from toolog.sanitize.engine import Walk
from toolog.sanitize.masks import FAILED
from toolog.sanitize.policy import Policy
from toolog.sanitize.spans import find_spans

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: What an application names as it likes.
_NAMES = ("threadName", "processName", "taskName")
_DIRECTIVE = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])"
)
_FORMATTER = logging.Formatter()


def mask_record(record: logging.LogRecord, policy: Policy) -> None:
    """Mask everything of a record that a formatter could show. Never raises: what breaks is withheld."""
    echoes = Echoes()
    _mask_parts(record, policy, echoes)
    try:
        again = echoes.search()
    except Exception:
        _withhold(record)
    else:
        if again:
            _mask_parts(record, policy, echoes)


def _withhold(record: logging.LogRecord) -> None:
    record.msg, record.args = FAILED, None
    if record.exc_info or record.exc_text:
        record.exc_info, record.exc_text = None, FAILED
    _withhold_rest(record)


def _withhold_rest(record: logging.LogRecord) -> None:
    record.stack_info = None
    for name in [name for name in vars(record) if name not in _STANDARD]:
        setattr(record, name, FAILED)


def _mask_parts(record: logging.LogRecord, policy: Policy, echoes: Echoes) -> None:
    try:
        _mask_message(record, policy, echoes)
    except Exception:
        record.msg, record.args = FAILED, None
    try:
        _mask_exception(record, policy, echoes)
    except Exception:
        record.exc_info, record.exc_text = None, FAILED
    try:
        if record.stack_info:
            record.stack_info = _clean(str(record.stack_info), policy, echoes)
        _mask_extras(record, policy, echoes)
        for name in _NAMES:
            given = getattr(record, name, None)
            if type(given) is str:
                clean = _clean(given, policy, echoes)
                if clean is not given:
                    setattr(record, name, clean)
    except Exception:
        _withhold_rest(record)


def _clean(value: Any, policy: Policy, echoes: Echoes) -> Any:
    return Walk(policy, echoes=echoes).run(value)


def _mask_message(record: logging.LogRecord, policy: Policy, echoes: Echoes) -> None:
    if not record.args:
        if isinstance(record.msg, str):
            clean = _clean(record.msg, policy, echoes)
            if clean is not record.msg:
                record.msg = clean
            return
        shown = _clean(record.msg, policy, echoes)
        if shown is not record.msg:
            record.msg = shown
        else:
            _mask_opaque(record, policy, echoes)
        return
    args = _clean_args(record.args, policy, echoes)
    if args is not record.args:
        record.args = args
    try:
        text = record.getMessage()
    except Exception:
        # The application's own mistake (wrong number of arguments): logging will tell it, with masked data.
        clean = _clean(str(record.msg), policy, echoes)
        record.msg = clean
        return
    clean = _clean(text, policy, echoes)
    if clean is text:
        return
    if not _put_back(record, clean, policy, echoes):
        record.msg, record.args = (
            clean.replace("%", "%%") + "%.0s" * _arity(record.args),
            record.args and _blanks(record.args),
        )


def _clean_args(args: Any, policy: Policy, echoes: Echoes) -> Any:
    if isinstance(args, dict):
        return _clean(args, policy, echoes)
    fresh = tuple(str(clean) if isinstance(item, BaseException) and clean is not item else clean
                  for item in args for clean in [_clean(item, policy, echoes)])  # fmt: skip
    return args if all(a is b for a, b in zip(fresh, args, strict=True)) else fresh


def _mask_opaque(record: logging.LogRecord, policy: Policy, echoes: Echoes) -> None:
    text = str(record.msg)
    clean = _clean(text, policy, echoes)
    if clean is not text:
        record.msg = clean


def _arity(args: Any) -> int:
    return len(args) if isinstance(args, tuple) else 0


def _blanks(args: Any) -> Any:
    return ("",) * len(args) if isinstance(args, tuple) else None


def _put_back(record: logging.LogRecord, clean: str, policy: Policy, echoes: Echoes) -> bool:
    """Write the masked message as a format with masked arguments; answer False when that cannot be done
    exactly."""
    template = str(record.msg)
    args = record.args
    if isinstance(args, dict):
        return _put_back_mapping(record, template, args, policy, echoes)
    assert isinstance(args, tuple)
    pieces: list[tuple[str, str, int]] = []  # format text, rendered text, index of its argument or -1
    at = number = 0
    for match in _DIRECTIVE.finditer(template):
        if "*" in match.group() or match.group("key") is not None:
            return False
        pieces.append((template[at : match.start()], template[at : match.start()], -1))
        at = match.end()
        if match.group("kind") == "%":
            pieces.append(("%%", "%", -1))
        else:
            pieces.append((match.group(), match.group() % (args[number],), number))
            number += 1
    pieces.append((template[at:], template[at:], -1))
    text = "".join(piece[1] for piece in pieces)
    spans = find_spans(policy, text, known=echoes.find(text))
    if not spans or number != len(args):
        return False
    fresh = list(args)
    parts: list[str] = []
    offset = 0
    given: set[int] = set()
    for form, shown, place in pieces:
        start, end = offset, offset + len(shown)
        offset = end
        out, point, touched = "", start, False
        for index, (low, high, rule) in enumerate(spans):
            if high <= start or low >= end:
                continue
            touched = True
            out += text[point : max(low, start)]
            whole = low >= start and high <= end
            if index not in given and (place >= 0 or whole or high <= end):
                out += echoes.render(policy.masks, rule, text[low:high])
                given.add(index)
            point = min(high, end)
        if not touched:
            parts.append(form)
            continue
        out += text[point:end]
        if place >= 0:
            fresh[place] = out
            parts.append("%s")
        else:
            parts.append(out.replace("%", "%%"))
    if len(given) != len(spans):
        return False
    message = "".join(parts)
    if _clean(message % tuple(fresh), policy, echoes) != message % tuple(fresh):
        return False
    record.msg, record.args = message, tuple(fresh)
    return True


def _put_back_mapping(
    record: logging.LogRecord, template: str, args: dict[str, Any], policy: Policy, echoes: Echoes
) -> bool:
    fresh = dict(args)
    for match in _DIRECTIVE.finditer(template):
        key = match.group("key")
        if key is None or key not in args:
            continue
        before = template[: match.start()] % fresh
        shown = match.group() % args
        spans = find_spans(policy, before + shown, known=echoes.find(before + shown))
        if any(high > len(before) for _, high, _ in spans):
            fresh[key] = echoes.render(policy.masks, spans[-1][2], shown)
            template = template.replace(match.group(), f"%({key})s")
    message = template % fresh
    if _clean(message, policy, echoes) != message:
        return False
    record.msg, record.args = template, fresh
    return True


def _mask_exception(record: logging.LogRecord, policy: Policy, echoes: Echoes) -> None:
    if record.exc_text:
        record.exc_text = _clean(record.exc_text, policy, echoes)
    info = record.exc_info
    if not info or not isinstance(info, tuple) or info[0] is None:
        return
    text = _FORMATTER.formatException(info)
    clean = _clean(text, policy, echoes)
    if clean is not text:
        # The exception object itself would show what the text no longer does: it does not travel on.
        record.exc_text, record.exc_info = clean, None


def _mask_extras(record: logging.LogRecord, policy: Policy, echoes: Echoes) -> None:
    extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if not extras:
        return
    clean = _clean(extras, policy, echoes)
    if clean is extras:
        return
    for name, value in extras.items():
        if name not in clean:
            setattr(record, name, None)
        elif clean[name] is not value:
            setattr(record, name, clean[name])
