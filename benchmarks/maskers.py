"""The maskers that masking.py compares, each as one function from a value to the masked value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Mask = Callable[[Any], Any]
Find = Callable[[str], list[str]]
"""Takes a text and returns the parts of it that are secrets."""

_KEYS = frozenset(
    "password passwd secret token api_key apikey authorization cookie phone email".split()  # noqa: SIM905
)


def toolog() -> Mask:
    """Return the default sanitizer."""
    from toolog import Sanitizer

    return Sanitizer().sanitize


def toolog_walk() -> Mask:
    """Return the walk of the default sanitizer without the scan that spares it: what the scan is worth."""
    from toolog.sanitize.engine import Walk
    from toolog.sanitize.policy import Policy

    class Blind(Policy):
        def flags(self, data: bytes) -> bool:
            return True

    policy = Blind({})
    return lambda value: Walk(policy).run(value)


def detect_secrets() -> Mask:
    """Return all plugins of detect-secrets over lines of `key = "text"`, as it reads source code."""
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    def find(line: str) -> list[str]:
        with default_settings():
            return [secret.secret_value for secret in scan_line(line) if secret.secret_value]

    return _in_texts(find)


def logfire() -> Mask:
    """Return logfire's scrubber with its own patterns."""
    from logfire._internal.scrubbing import Scrubber

    scrubber = Scrubber(None)

    def mask(value: Any) -> Any:
        return scrubber.scrub_value(("attributes",), value)[0]

    return mask


def presidio() -> Mask:
    """Return presidio's recognizers that are patterns, without a model of language."""
    from presidio_analyzer import RecognizerRegistry
    from presidio_analyzer.pattern_recognizer import PatternRecognizer

    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    recognizers = [one for one in registry.recognizers if isinstance(one, PatternRecognizer)]

    def find(text: str) -> list[str]:
        found = [hit for one in recognizers for hit in one.analyze(text, one.supported_entities, None)]
        return [text[hit.start : hit.end] for hit in found if hit.score >= 0.4]

    return _in_texts(find, with_key=False)


def loggingredactor() -> Mask:
    """Return loggingredactor with the usual names of keys; it has no patterns of its own."""
    from loggingredactor import RedactingFilter

    redactor = RedactingFilter([], mask="****", mask_keys=set(_KEYS))
    return lambda value: redactor.redact(value)


def scrubadub() -> Mask:
    """Return scrubadub's default detectors."""
    from scrubadub import Scrubber

    scrubber = Scrubber()
    return _rewrite(scrubber.clean)


def langsmith() -> Mask:
    """Return langsmith's anonymizer with the rules of its documentation: addresses, and words before a
    value."""
    from langsmith.anonymizer import create_anonymizer

    rules = [
        {"pattern": re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}"), "replace": "[email]"},
        {"pattern": re.compile(r"\b(?:sk|pk|ghp|xox[a-z])[-_][A-Za-z0-9_-]{16,}"), "replace": "[key]"},
    ]
    anonymize: Mask = create_anonymizer(rules, max_depth=32)
    return anonymize


def sentry() -> Mask:
    """Return sentry's scrubber of keys."""
    from sentry_sdk.scrubber import EventScrubber

    scrubber = EventScrubber(recursive=True)

    def mask(value: Any) -> Any:
        held = {"value": value}
        scrubber.scrub_dict(held)
        return held["value"]

    return lambda value: _plain(mask(value))


def _plain(value: Any) -> Any:
    """Return a value in which sentry's annotated ones are what they show."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return getattr(value, "value", value) if type(value).__name__ == "AnnotatedValue" else value


def _in_texts(find: Find, *, with_key: bool = True) -> Mask:
    """Return the masker that asks a finder about each text, and each line of it, with its key in front."""

    def mask(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {mask(name): mask(item, str(name)) for name, item in value.items()}
        if isinstance(value, list):
            return [mask(item, key) for item in value]
        if value is None or isinstance(value, bool | float):
            return value
        text = str(value)
        found = [
            secret
            for line in text.splitlines()
            for secret in find(f'{key} = "{line}"' if key and with_key else line)
        ]
        for secret in found:
            text = text.replace(secret, "[MASKED]")
        return text if found else value

    return mask


def _rewrite(clean: Callable[[str], str]) -> Mask:
    def mask(value: Any) -> Any:
        if isinstance(value, dict):
            return {mask(name): mask(item) for name, item in value.items()}
        if isinstance(value, list):
            return [mask(item) for item in value]
        return clean(value) if isinstance(value, str) else value

    return mask


MASKERS: tuple[tuple[str, str, Callable[[], Mask]], ...] = (
    ("toolog", "toolog", toolog),
    ("toolog, walk only", "toolog", toolog_walk),
    ("detect-secrets", "detect-secrets", detect_secrets),
    ("logfire", "logfire", logfire),
    ("presidio, patterns", "presidio-analyzer", presidio),
    ("loggingredactor", "loggingredactor", loggingredactor),
    ("scrubadub", "scrubadub", scrubadub),
    ("langsmith", "langsmith", langsmith),
    ("sentry", "sentry-sdk", sentry),
)
"""Name, package, and what makes it."""
