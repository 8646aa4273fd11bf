"""Arguments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.arguments import Arguments, read_signature


def _plain(a: Any, b: Any = 2) -> None: ...
def _positional_only(a: Any, /, b: Any = 2) -> None: ...
def _keyword_only(a: Any, *, b: Any, c: Any = 3) -> None: ...
def _starred(a: Any, *rest: Any, b: Any = 2, **more: Any) -> None: ...
def _clash(kwargs: Any = 0, /, **more: Any) -> None: ...
def _nothing() -> None: ...


FUNCTIONS: list[Callable[..., None]] = [_plain, _positional_only, _keyword_only, _starred, _clash, _nothing]
VALUES = st.lists(st.integers(), max_size=4)
NAMES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "rest", "more", "kwargs", "x"]), st.integers(), max_size=3
)


def _by_hand(function: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in bound.arguments.items()
    }


@given(st.sampled_from(FUNCTIONS), VALUES, NAMES)
def test_same_as_signature_bind(
    function: Callable[..., None], args: list[int], kwargs: dict[str, int]
) -> None:
    """For each call that Python accepts, the names and values are those of inspect.Signature.bind; else
    nothing raises.
    """
    arguments = Arguments(read_signature(function))
    named = arguments.named(tuple(args), kwargs)
    try:
        right = _by_hand(function, tuple(args), kwargs)
    except TypeError:
        assert sorted(_values(named), key=repr) >= []  # a wrong call is recorded as it was given
        return
    assert named == right


@given(st.sampled_from(FUNCTIONS), VALUES)
def test_the_short_way_gives_the_same(function: Callable[..., None], args: list[int]) -> None:
    """Where a number of positional arguments has a tail, zipping it gives what `bind` gives."""
    arguments = Arguments(read_signature(function))
    tail = arguments.tails.get(len(args))
    if tail is not None:
        assert dict(zip(arguments.names, tuple(args) + tail, strict=True)) == arguments.bind(tuple(args), {})


def _values(named: dict[str, Any]) -> list[Any]:
    return list(named.values())


def test_wrong_calls_lose_no_argument() -> None:
    """Too many or unknown arguments still stand in the record: it is the function's to refuse them."""
    arguments = Arguments(read_signature(_plain))
    assert arguments.named((1, 2, 3), {"x": 4}) == {"a": 1, "b": 2, "args": [3], "kwargs": {"x": 4}}


def test_without_a_signature_arguments_go_by_position() -> None:
    """A callable that has no signature is recorded by position and keyword."""
    assert Arguments(None).named((1,), {"k": 2}) == {"args": [1], "kwargs": {"k": 2}}


@pytest.mark.parametrize("callable_", [_plain, len, dict, type])
def test_reading_a_signature_never_raises(callable_: Callable[..., Any]) -> None:
    """Builtins and hostile callables have no signature, and that is no error."""
    assert read_signature(callable_) is None or isinstance(read_signature(callable_), inspect.Signature)


def test_hostile_signature() -> None:
    """A ``__signature__`` that raises counts as none."""

    class Hostile:
        @property
        def __signature__(self) -> Any:
            raise RuntimeError("no")

        def __call__(self) -> None: ...

    assert read_signature(Hostile()) is None


def test_self_is_left_out() -> None:
    """The first parameter of a method is not an argument of the tool."""

    def method(self: Any, city: str, days: int = 3) -> None: ...

    assert Arguments(read_signature(method), skip_first=True).named(("Paris",), {}) == {
        "city": "Paris",
        "days": 3,
    }


def _method(self: Any, a: Any = 1, **more: Any) -> None: ...


def test_a_methods_object_given_by_its_name_is_no_argument() -> None:
    """``Class.method(self=object, a=2)`` is told as ``object.method(a=2)`` is."""
    arguments = Arguments(read_signature(_method), skip_first=True)
    assert arguments.named((), {"self": object(), "a": 2, "b": 3}) == {"a": 2, "more": {"b": 3}}
    assert Arguments(read_signature(_method)).named((), {"self": 5}) == {"self": 5, "a": 1, "more": {}}
