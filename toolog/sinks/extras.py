"""Client libraries that toolog does not install by itself: each sink says which one it needs."""

from __future__ import annotations

import importlib.util

from toolog.errors import NotInstalled


def require(module: str, extra: str, where: str) -> None:
    """Raise NotInstalled, which says how to install it, when a client library is not there.

    Nothing is imported: only whether it could be is looked up. ``where`` names who needs it.
    """
    if not is_installed(module):
        raise NotInstalled(f"{where} needs a client that is not installed: pip install 'toolog[{extra}]'")


def is_installed(module: str) -> bool:
    """Whether a module could be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
