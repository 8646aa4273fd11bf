"""The spool: records on disk, between the call that made them and the sinks that store them.

A program writes frames by ``SpoolWriter.append``; a shipper reads them by one ``SpoolReader`` for each sink
and acknowledges what the sink has stored; ``Spool`` makes both and deletes what every sink has.
This docstring specifies what is on disk; a reader can be written from it alone. Numbers are unsigned and
little-endian; "CRC" is CRC-32 as in zlib, ``crc(data, start)`` the CRC of data continued from start.

Directory
    ======================== ==============================================================================
    ``NAME.seg``             a segment: frames of one writer. All other names can be ignored.
    ``.NAME-XXXXXXXX.new``   a segment that is being created. Never read.
    ``cursors/SINK.cursor``  how far SINK has acknowledged each segment (see ``toolog.spool.cursor``)
    ``shipper.lock``         held by the one process that ships (flock, exclusive)
    ``dead-letters/``        what sinks refused for good, as JSON lines
    ``room.wanted``          levels of records that wait for room, one a line; the shipper takes it away
    ======================== ==============================================================================

    The directory has permissions 0700, files 0600. ``SINK`` is percent-encoded.

Segment names
    ``STAMP_HOST_PID_RANDOM_NUMBER``, for example ``20261129T131502123456Z_web-1_4711_9f86d081884c_000001``.
    STAMP is the time of creation in UTC with microseconds; HOST has letters, digits, ``.`` and ``-``; PID is
    decimal; RANDOM is 12 hex digits, new at each start and fork; NUMBER counts the writer's segments from
    000001 on (at least six digits). Segments are read in the order of their names: the order of creation.
    A segment that is for one sink alone (dead letters that are sent again) has ``_to-SINK`` behind NUMBER;
    the cursors of other sinks have passed it, and only SINK decides when it is deleted.

Segment
    The 8 bytes ``TLSPOOL1``, then frames without gaps. The first frame has flag 1: its payload is a JSON
    object that repeats the name's facts (``version`` 1, ``segment``, ``host``, ``pid``, ``created_ns``,
    ``boot_id``); it is no record. The first frame's layout is the same in all versions. Nothing needs those
    first two: if they are damaged, the name tells all. A segment holds frames only of the writer in its name,
    in the order in which they were written (serial numbers of threads that write at the same time may stand
    in another order). Nothing is ever changed in it.

Frame
    ====== ==== ============= ==========================================================================
    offset size field         meaning
    ====== ==== ============= ==========================================================================
    0      4    mark          the bytes C1 FE 9B C0
    4      4    frame CRC     ``crc(payload, header CRC)``
    8      4    header CRC    ``crc(bytes 12 to 27, salt)``
    12     4    length        of the payload in bytes, at most 67,108,864
    16     8    seq           the writer's serial number, from 1 on over all its segments; may have gaps
    24     2    level         the record's level number (logging's: 10 DEBUG ... 50 CRITICAL)
    26     1    serializer    how the payload was made: 0 JSON, 1 MessagePack, 255 the short form
    27     1    flags         bit 0: the header of a segment; other bits are 0, and are ignored
    28     any  payload
    ====== ==== ============= ==========================================================================

    The short form is MessagePack with less in it: see ``toolog.serializers.compact``.

    ``salt`` is the CRC of the segment's name (ASCII, without ``.seg``). It keeps a frame of another segment,
    which was copied into a record or left on the disk by a deleted file, from being taken for one of this
    segment. A segment keeps its name for life.

Short form
    A call's record in MessagePack, without what follows from the rest. It begins with 60 bytes: the time
    (signed, 8 bytes, nanoseconds since 1970) and the duration (signed, 8, nanoseconds), a number (8), P and T
    (16 and 8 characters), the lengths of HEAD, LINEAGE and PROCESS (4 each); these three follow, and CONTENT
    up to the end. With S, the number as 16 hex digits, the record is: HEAD (the map's head, and pairs); the
    pairs ``record_id`` P + S, ``timestamp`` (``YYYY-MM-DDTHH:MM:SS.ffffffZ``, cut to microseconds),
    ``trace_id`` (the first 32 bytes of LINEAGE, or, where that is empty, S[8:] + T + S), ``span_id`` S; the
    rest of LINEAGE (pairs; where it is empty, ``parent_id`` nil and ``depth`` 0); the key ``process`` and
    PROCESS (its value, and perhaps a pair more); ``duration_ms`` (a float of 64 bits, the duration divided by
    a million); CONTENT (pairs).

Reading
    A frame is good when the mark stands there, it ends in the file, and both checksums are right. If not,
    what stands there is damage. The next frame is found by looking for the mark from the next byte on, until
    a place where a whole good frame begins. So a damaged frame loses only itself. The header CRC tells,
    before the payload is looked at, whether the length can be believed.

    Is the segment's writer alive? It holds an exclusive flock on the segment for as long as it has it open,
    from before the segment gets its name. A reader that gets a shared lock (and gives it back at once) knows
    that nothing will be added; it must ask before it looks at the file's size. At the end of a live segment,
    bytes that are no good frame are a write that is under way: they are looked at again later. They are
    damage as soon as a good frame stands behind them or the writer is gone.

    Frames are identified by ``segment/seq`` (``Frame.record_key``), the same whenever they are read.

Writing
    One ``write(2)`` in append mode for each frame or batch. After a write that stopped half way, or failed in
    a way that leaves the file's content open, the writer goes on in another segment: a torn frame is only
    ever followed by frames of other threads that were writing at that moment. A segment is left when it is
    full, on such a failure, by ``seal``, and by a fork (the child begins a new identity); it is closed, and
    with that unlocked, when no thread is inside a write to it.

What holds
    - A record is *accepted* when ``append`` returns. It survives the death of the process in any way; with
      ``sync``, of the machine. What raised is not accepted.
    - A frame is delivered at least once to each sink; after a crash, those again that were not acknowledged.
    - A cursor moves only by ``ack``. If it is missing or damaged, everything is delivered again; nothing is
      skipped.
    - A segment is deleted when each sink has acknowledged all of it and nobody can write to it, and not
      before.
    - Whatever lies in the directory, reading starts, and damage costs the damaged frames.
    - ``max_size`` bounds the bytes of all segments together. A writer that reaches it raises SpoolFull and
      never deletes; each process looks at the directory from time to time, so several at once may go beyond
      it by 64 KiB for each. ``Spool.drop_oldest`` makes room by giving up the lowest levels first, and says
      what it gave up.
"""

from __future__ import annotations

from toolog.spool.browse import iter_frames, pending
from toolog.spool.cursor import Cursor, open_tracks
from toolog.spool.directory import SegmentInfo, Spool
from toolog.spool.frame import Frame
from toolog.spool.locks import ShipperLock
from toolog.spool.naming import SegmentName, addressee
from toolog.spool.overflow import GivenUp, successors
from toolog.spool.reader import SpoolReader
from toolog.spool.room import ask_for_room, room_asked_for
from toolog.spool.tracks import Mark, Track
from toolog.spool.writer import SpoolWriter

__all__ = [
    "Cursor",
    "Frame",
    "GivenUp",
    "Mark",
    "SegmentInfo",
    "SegmentName",
    "ShipperLock",
    "Spool",
    "SpoolReader",
    "SpoolWriter",
    "Track",
    "addressee",
    "ask_for_room",
    "iter_frames",
    "open_tracks",
    "pending",
    "room_asked_for",
    "successors",
]
