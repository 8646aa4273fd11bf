"""Arguments by name: a signature read once, so that a call only zips names and values.

``inspect.Signature.bind`` costs 5 us a call even when cached; zipping precomputed names costs less than one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments:
    """How one function's positional and keyword arguments become a dict by name, defaults filled in.

    ``tails`` maps a number of positional arguments to the defaults of the remaining parameters: when a call
    has only positional arguments and their number is a key, ``dict(zip(names, args + tails[len(args)]))`` is
    the answer. Everything else goes through `named`.
    """

    __slots__ = ("_defaults", "_keywords", "_object", "_positional", "_var_keyword", "_var_positional",
                 "names", "size", "tails", "template")  # fmt: skip

    def __init__(self, signature: inspect.Signature | None, *, skip_first: bool = False) -> None:
        parameters = list(signature.parameters.values()) if signature is not None else []
        self._object: str | None = None  # the name by which a method's object may be given: it is no argument
        if skip_first and parameters and parameters[0].kind in _POSITIONAL:
            if parameters[0].kind is not inspect.Parameter.POSITIONAL_ONLY:
                self._object = parameters[0].name
            parameters = parameters[1:]
        self._var_positional: str | None = "args" if signature is None else None
        self._var_keyword: str | None = "kwargs" if signature is None else None
        self._positional: tuple[str, ...] = ()
        self._keywords: frozenset[str] = frozenset()
        self._defaults: dict[str, Any] = {}
        plain = signature is not None
        for parameter in parameters:
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                self._var_positional, plain = parameter.name, False
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                self._var_keyword, plain = parameter.name, False
            else:
                if parameter.kind in _POSITIONAL:
                    self._positional += (parameter.name,)
                if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
                    self._keywords |= {parameter.name}
                if parameter.default is not inspect.Parameter.empty:
                    self._defaults[parameter.name] = parameter.default
        self.names = tuple(
            p.name for p in parameters if p.name not in (self._var_positional, self._var_keyword)
        )
        self.tails: dict[int, tuple[Any, ...]] = {}
        self.template: dict[str, Any] | None = None
        self.size = len(self.names)
        if plain:
            self.template = dict(self._defaults)
            for given in range(len(self._positional) + 1):
                rest = self.names[given:]
                if all(name in self._defaults for name in rest):
                    self.tails[given] = tuple(self._defaults[name] for name in rest)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name; the short way for a call with keywords only, else `bind`."""
        if not args and self.template is not None:
            named = {**self.template, **kwargs}
            if len(named) == self.size:
                return named
        return self.bind(args, kwargs)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, whatever was given: a wrong call is the function's to refuse, not
        ours.
        """
        named: dict[str, Any] = dict(zip(self._positional, args, strict=False))
        rest = args[len(self._positional) :]
        if rest or self._var_positional is not None:
            named[self._free(self._var_positional or "args", named)] = list(rest)
        extra: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in self._keywords and name not in named:
                named[name] = value
            elif name != self._object:
                extra[name] = value
        for name, value in self._defaults.items():
            if name not in named:
                named[name] = value
        if extra or self._var_keyword is not None:
            named[self._free(self._var_keyword or "kwargs", named)] = extra
        return named

    def is_default(self, name: str, named: dict[str, Any]) -> bool:
        """Whether a parameter has its very default among arguments by name, as `bind` returns them."""
        return name in self._defaults and named.get(name) is self._defaults[name]

    @staticmethod
    def _free(name: str, taken: dict[str, Any]) -> str:
        while name in taken:
            name += "_"
        return name


def read_signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return a function's signature, or None when it has none that can be read (then `bind` goes by
    position).
    """
    try:
        return inspect.signature(function)
    except Exception:  # builtins raise ValueError, hostile __signature__ anything
        return None
