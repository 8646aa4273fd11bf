"""Who owns the files that toolog makes: whoever owns the folder, also when root works in it.

A command that an administrator runs must not leave files behind that the service's own user cannot open.
"""

from __future__ import annotations

import os
from pathlib import Path


def hand_over(path: Path, fd: int = -1, *, like: os.stat_result | None = None) -> None:
    """Give a file or folder that root has made to the owner of the folder that it is in.

    ``fd``: the descriptor by which it is open; ``like``: what another file, whose place it takes, belongs to.
    Does nothing for anybody but root. Raises OSError.
    """
    if os.geteuid() != 0:
        return
    wanted = like or os.stat(path.parent)
    have = os.stat(path if fd < 0 else fd, follow_symlinks=True)
    if (have.st_uid, have.st_gid) != (wanted.st_uid, wanted.st_gid):
        os.chown(path if fd < 0 else fd, wanted.st_uid, wanted.st_gid)
