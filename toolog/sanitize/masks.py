"""What stands in the place of a secret: the styles, and how a caller's own style is kept honest.

Every mask is recognized as one when it is met again (`plausible.is_mask`), so sanitizing twice changes
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from toolog.errors import ConfigError, unknown_key
from toolog.sanitize.plausible import is_mask

FAILED = "[REDACTION_FAILED]"
TRUNCATED = "[TRUNCATED]"
CYCLE = "[CYCLE]"
STYLES = ("mask", "last4", "pseudonym", "drop")
_KEEPS_LAST = 4
_LEAST_FOR_LAST = 8

#: A style by name, or a function of (rule, secret) that answers the text to show.
Style = str | Callable[[str, str], str]


class Masks:
    """Makes masks: one style for each rule, `*` for all others.

    :param styles: rule -> `mask`, `last4`, `pseudonym`, `drop`, a dotted name `package.module:function`, or a
        callable `(rule, secret) -> str`. A single style stands for all rules.
    :param hmac_key: the key of pseudonyms: text, bytes, or `{"env": NAME}`.
    :raises ConfigError: for a style nobody knows, or pseudonyms without a key.
    """

    def __init__(
        self, styles: Mapping[str, Style] | Style | None, hmac_key: Any, rules: frozenset[str]
    ) -> None:
        if styles is None:
            styles = {}
        elif isinstance(styles, str) or callable(styles):
            styles = {"*": styles}
        elif not isinstance(styles, Mapping):
            raise ConfigError(
                f"sanitizer option 'style' is a style or a mapping of rule to style, not {styles!r}"
            )
        self._styles: dict[str, Style] = {}
        for rule, style in styles.items():
            if rule != "*" and rule not in rules:
                raise unknown_key(rule, rules | {"*"}, "sanitizer option 'style'")
            self._styles[rule] = _resolve(style, f"style of {rule!r}")
        self._default = self._styles.get("*", "mask")
        self._key = _key(hmac_key)
        if self._key is None and "pseudonym" in self._styles.values():
            raise ConfigError("sanitizer style 'pseudonym' needs the option 'hmac_key'")
        self.plain = all(style == "mask" for style in self._styles.values())
        self.drops = "drop" in self._styles.values()
        #: Whether some masks are made by a user's function, which may answer something else each time.
        self.foreign = any(callable(style) for style in self._styles.values())

    def style(self, rule: str) -> Style:
        """Answer the style of a rule."""
        return self._styles.get(rule, self._default)

    def dropped(self, rule: str) -> bool:
        """Tell whether values of this rule are left out altogether."""
        return self.style(rule) == "drop"

    def render(self, rule: str, secret: str, check: Callable[[str], bool] | None = None) -> str:
        """Answer the mask of a secret. A callable's text is only taken when `check` finds no secret in it.

        Never raises: what breaks answers `[REDACTION_FAILED]`.
        """
        if rule == "truncated":
            return TRUNCATED
        style = self.style(rule)
        if style == "mask":
            return f"[MASKED:{rule}]"
        try:
            if style == "drop":
                return ""
            if style == "last4":
                shown = "".join(char for char in secret if char.isalnum())
                if len(shown) < _LEAST_FOR_LAST or not shown.isascii():
                    return f"[MASKED:{rule}]"
                return "****" + shown[-_KEEPS_LAST:]
            if style == "pseudonym":
                import hashlib  # OpenSSL: only where pseudonyms are asked for
                import hmac

                assert self._key is not None
                digest = hmac.new(
                    self._key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256
                ).hexdigest()
                return f"[MASKED:{rule}:{digest[:12]}]"
            assert callable(style)
            made = style(rule, secret)
            if type(made) is not str:
                return FAILED
            if is_mask(made) or made == "":
                return made
            if (len(secret) > 2 and secret in made) or (check is not None and not check(made)):
                return f"[MASKED:{rule}]"
            return made
        except Exception:
            return FAILED


def _resolve(style: Any, where: str) -> Style:
    if callable(style):
        return style  # type: ignore[no-any-return]
    if not isinstance(style, str):
        raise ConfigError(f"{where} is a style's name or a callable, not {style!r}")
    if style in STYLES:
        return style
    module, _, name = style.partition(":")
    if not name:
        raise unknown_key(style, STYLES, where)
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: cannot load {style!r}: {error}") from error
    if not callable(found):
        raise ConfigError(f"{where}: {style!r} is not callable")
    return found  # type: ignore[no-any-return]


def _key(given: Any) -> bytes | None:
    if isinstance(given, Mapping):
        if set(given) != {"env"}:
            wrong = next((key for key in given if key != "env"), "")
            raise unknown_key(wrong, ["env"], "sanitizer option 'hmac_key'")
        name = str(given["env"])
        given = os.environ.get(name)
        if not given:
            raise ConfigError(f"sanitizer option 'hmac_key': environment variable {name} is not set")
    if given is None:
        return None
    if isinstance(given, str):
        given = given.encode()
    if not isinstance(given, bytes) or len(given) < 8:
        raise ConfigError(
            "sanitizer option 'hmac_key' is text or bytes of at least 8 bytes, or {'env': NAME}"
        )
    return given
