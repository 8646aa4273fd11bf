"""Settings: what capture reads on every call (here), and the one table of all parameters
(``settings.table``).

This module is part of ``import toolog`` and stays light; ``settings.resolve`` finds each parameter's value
among arguments, environment, pyproject.toml and defaults, and is imported only by what configures.
"""

from __future__ import annotations

from typing import Literal


class CaptureSettings:
    """What capture reads on every call; plain attributes, changed in place by ``configure`` and the
    handler.
    """

    __slots__ = (
        "capture_config", "capture_output", "hash_key", "levels",
        "max_bytes", "max_depth", "max_items", "max_nesting",
        "on_max_depth", "repr_types", "service", "slow_ms", "threads",
    )  # fmt: skip

    def __init__(self) -> None:
        self.capture_config = True
        self.capture_output = False
        self.hash_key: str | None = None
        self.levels: dict[str, int] = {}
        self.max_bytes = 65536
        self.max_depth = 10
        self.max_items = 1000
        self.max_nesting = 32
        self.on_max_depth: Literal["record", "raise"] = "record"
        self.repr_types: tuple[str, ...] = ()
        self.service: dict[str, str] = {}
        self.slow_ms: float | None = None
        self.threads = False


capture = CaptureSettings()


class Provisional:
    """Whether capture's settings are only those of a profile that may come up by itself (see
    `autoconfigure`).
    """

    __slots__ = ("active",)

    def __init__(self) -> None:
        self.active = False


provisional = Provisional()
