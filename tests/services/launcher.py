"""Become another program that dies with whoever started it: launcher.py PID COMMAND...

Linux ends the program by SIGKILL when its parent's starting thread has ended, however it did; elsewhere only
an orderly end of the parent stops the program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):  # the parent was gone before the line above
        sys.exit(1)
    os.execv(sys.argv[2], sys.argv[2:])
