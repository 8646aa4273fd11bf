"""The ``tool_instance`` record: it tells of an object once, with its configuration and whom it follows."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import ormsgpack

from toolog.counters import contain
from toolog.emit import emit_event, level_of
from toolog.instances.config import digest_of
from toolog.instances.known import Known, live
from toolog.levels import ROOT

_lineage: dict[tuple[str, str, str], str] = {}
"""The newest instance_id of each class (module, name) and configuration (its hash)."""
MAX_LINEAGE = 4096


def tell(known: Known) -> None:
    """Send the record of an object, if records of its level are wanted, and note that it was told about."""
    level = level_of("tool_instance")
    if not logging.getLogger(ROOT).isEnabledFor(level):
        return
    known.told = True
    packed = known.config or b""
    config = None if known.config is None else ormsgpack.unpackb(known.config)
    known.config = None  # told once, so no longer needed
    module, qualname = known.cls_name
    tool: dict[str, Any] = {"module": module, "qualname": qualname, "type": "function"}
    if known.package:
        tool["package"] = known.package
    facts: dict[str, Any] = {
        "instance_id": known.instance_id,
        "tool": tool,
        "created_at": datetime.fromtimestamp(known.created / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    if config is not None:
        try:
            digest = digest_of(packed, config)
            facts["config_hash"] = digest
            _link(known, (module, qualname, digest))
        except Exception as error:
            contain("config_hash", error)
    if known.recreated_from is not None:
        facts["recreated_from"] = known.recreated_from
    snapshot = None if config is None else ("config", packed, known.cuts)
    emit_event("tool_instance", levelno=level, facts=facts, packed=snapshot)


def _link(known: Known, lineage: tuple[str, str, str]) -> None:
    """Link an object to the one before it of the same class and configuration, if that one lives no more."""
    before = _lineage.pop(lineage, None)
    if known.recreated_from is None and before is not None and before not in live:
        known.recreated_from = before
    _lineage[lineage] = known.instance_id
    if known.ref is not None:
        live[known.instance_id] = known.ref.key
    while len(_lineage) > MAX_LINEAGE:
        del _lineage[next(iter(_lineage))]
