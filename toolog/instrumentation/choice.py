"""Which of the callables that were found a user wants: the globs of ``tools=`` and ``exclude=``."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from toolog.errors import ConfigError, nearest
from toolog.instrumentation.callers import looks_at_caller
from toolog.instrumentation.kinds import is_public

Globs = Iterable[str] | str | None


class Choice:
    """The globs of ``tools=`` and ``exclude=``, over names such as ``Class.method``; remembers which ones
    matched.

    ``takes_private``: whether a glob asks for names with a leading underscore. Raises ConfigError when a glob
    is not text.
    """

    def __init__(self, tools: Globs = None, exclude: Globs = None) -> None:
        self.tools = _globs(tools, "tools")
        self.exclude = _globs(exclude, "exclude")
        self.takes_private = any(glob.rpartition(".")[2].startswith("_") for glob in self.tools or ())
        self._matched: set[tuple[str, str]] = set()
        self._seen: dict[str, None] = {}

    @property
    def is_everything(self) -> bool:
        """Whether no glob chooses or leaves out anything."""
        return self.tools is None and self.exclude is None

    def why_not(self, *names: str) -> str | None:
        """Return why a callable known by these names is not taken, or None when it is."""
        public = is_public(names[0].rpartition(".")[2])
        if not public and not self.takes_private:
            return "private"
        self._seen.update(dict.fromkeys(names))
        chosen = self.tools is None
        for glob in self.tools or ():
            private = glob.rpartition(".")[2].startswith("_")
            if (public or private) and any(fnmatchcase(name, glob) for name in names):
                self._matched.add(("tools", glob))
                chosen = True
        left_out = None
        for glob in self.exclude or ():
            if any(fnmatchcase(name, glob) for name in names):
                self._matched.add(("exclude", glob))
                left_out = left_out or f"excluded by {glob!r}"
        if not chosen:
            return "not chosen by tools=" if public else "private"
        return left_out

    def why_not_unasked(self, function: Any) -> str | None:
        """Return why a tool's function is better left alone, unless ``tools=`` asks for it."""
        if self.tools is None and looks_at_caller(function):
            return "looks at its caller's frame, and would find ours; tools= wraps it all the same"
        return None

    def check(self, target: str) -> None:
        """Raise ConfigError when a glob matched nothing in the target."""
        for option, globs in (("tools", self.tools), ("exclude", self.exclude)):
            for glob in globs or ():
                if (option, glob) not in self._matched:
                    guess = nearest(glob, self._seen)
                    known = ", ".join(list(self._seen)[:12]) or "no tools at all"
                    hint = f"did you mean {guess!r}?" if guess else f"there are: {known}"
                    raise ConfigError(f"{option}={glob!r} matches nothing in {target}; {hint}")


def _globs(value: Globs, option: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, Iterable):
        raise ConfigError(f"{option} takes globs over names such as 'Class.method', not {value!r}")
    globs = (value,) if isinstance(value, str) else tuple(value)
    for glob in globs:
        if not isinstance(glob, str):
            raise ConfigError(f"{option} takes globs over names such as 'Class.method', not {glob!r}")
    return globs
