"""The program that logs in the fault matrix: producer.py JOB, where JOB is a JSON object.

It logs the numbers from ``first`` on, ``count`` of them (0: for ever), ``pause`` seconds apart, and writes
each into the file ``ledger`` only after the call returned: what stands there was accepted. ``handler`` are
the options of its handler. At the end it flushes and prints its own figures. ``die`` names a point in its
life at which it kills itself by SIGKILL, see `deaths`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults import deaths
from tests.faults.books import message


def main(job: dict[str, object]) -> None:
    """Log, flush, tell."""
    import toolog

    if job.get("die"):
        deaths.arm(str(job["die"]), int(str(job.get("times", 1))))
    handler = toolog.ToologHandler(**job["handler"])  # type: ignore[arg-type]
    log = logging.getLogger("faults")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(handler)
    ledger = os.open(str(job["ledger"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    number, count = int(str(job["first"])), int(str(job["count"]))
    pause, padding = float(str(job.get("pause", 0.001))), int(str(job.get("padding", 0)))
    end = number + count if count else sys.maxsize
    print("go", flush=True)
    while number < end:
        log.info("%s", message(number, padding))
        os.write(ledger, b"%d\n" % number)
        number += 1
        if pause:
            time.sleep(pause)
    flushed = toolog.flush(float(str(job.get("flush", 60))))
    figures = toolog.stats()
    handler.close()
    print(json.dumps({"flushed": flushed, **figures}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
