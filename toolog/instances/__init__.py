"""Tool instances: which configured object a call ran on, and how that object was set up.

Each live object whose methods are tools has one ``instance_id``. Its configuration is the snapshot of its
constructor's arguments, taken before the constructor ran; of an object that was made before instrumentation,
or without a constructor of its own (pydantic), it is read from the object's state. One ``tool_instance``
record tells both, when the object is first seen.

Objects are known by ``id()`` through weak references: no object is kept alive, hashed or compared. Of an
object that takes no weak reference (``__slots__`` without ``__weakref__``) only the id and the type are
known.
"""

from __future__ import annotations

from toolog.instances.config import config_hash, leave_config_out
from toolog.instances.factories import factories_of
from toolog.instances.known import known_objects
from toolog.instances.life import Newborn, abandon, begin, finish, identify, instance_id
from toolog.instances.recreation import recreate

__all__ = [
    "Newborn", "abandon", "begin", "config_hash", "factories_of", "finish", "identify", "instance_id",
    "known_objects", "leave_config_out", "recreate",
]  # fmt: skip
