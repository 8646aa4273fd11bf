"""What the C library does with memory that a batch has freed.

Batches come and go, and each is some megabytes. glibc gives what is free at the end of its heaps back to the
kernel as soon as it is more than a threshold, and gets it again page by page with the next batch: about a
fifth of all the processor time of shipping. The threshold follows the largest block that was ever freed.
"""

from __future__ import annotations

_LARGEST = 16 * 1024 * 1024
_first = [True]


def keep_freed_memory() -> None:
    """Let the heaps keep twice ``_LARGEST`` bytes of freed memory, where the C library is glibc.

    The block is never written to, so that it takes no memory itself. The first time, that is: a second block
    would come out of a heap, and be cleared. What holds once holds for the process, and its children.
    """
    if not _first:
        return
    _first.clear()
    try:
        bytearray(_LARGEST)
    except MemoryError:  # then there is nothing to keep, either
        pass
