"""The serialization libraries that are compared, each behind one form: a name, encode, decode.

A library that is not installed is left out and named. Only what `toolog bench` runs imports them.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple


class Codec(NamedTuple):
    """One library in one use: ``family`` is the format, ``version`` the library's."""

    name: str
    family: str
    version: str
    encode: Callable[[dict[str, Any]], bytes]
    decode: Callable[[bytes], Any]


def _stdlib() -> Codec:
    return Codec("json", "JSON", platform.python_version(), lambda doc: json.dumps(doc).encode(), json.loads)


def _orjson() -> Codec:
    import orjson

    return Codec("orjson", "JSON", version("orjson"), orjson.dumps, orjson.loads)


def _msgspec_json() -> Codec:
    import msgspec

    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder()
    return Codec("msgspec json", "JSON", version("msgspec"), encoder.encode, decoder.decode)


def _msgpack() -> Codec:
    import msgpack

    return Codec("msgpack", "MessagePack", version("msgpack"), msgpack.packb, msgpack.unpackb)


def _ormsgpack() -> Codec:
    import ormsgpack

    return Codec("ormsgpack", "MessagePack", version("ormsgpack"), ormsgpack.packb, ormsgpack.unpackb)


def _msgspec_msgpack() -> Codec:
    import msgspec

    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder()
    return Codec("msgspec msgpack", "MessagePack", version("msgspec"), encoder.encode, decoder.decode)


def _protobuf_struct() -> Codec:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.struct_pb2 import Struct

    def encode(document: dict[str, Any]) -> bytes:
        message = Struct()
        message.update(document)
        return bytes(message.SerializeToString())

    def decode(data: bytes) -> Any:
        return MessageToDict(Struct.FromString(data))

    return Codec("protobuf Struct", "Protocol Buffers", version("protobuf"), encode, decode)


TEXTS = (
    "schema_version", "record_id", "event", "level", "timestamp", "trace_id", "span_id",
    "parent_id", "tool_name", "status", "session_id", "host", "stderr",
)  # fmt: skip
FREE = ("tool", "input", "output", "error", "tags", "service", "process")


def _protobuf_typed() -> Codec:
    """A message with a typed field for each fact of a record; what a tool takes and gives is a Value.

    Messages are filled and read by hand: ``ParseDict`` and ``MessageToDict`` take several times as long.
    """
    message_class = _record_class()

    def encode(document: dict[str, Any]) -> bytes:
        message = message_class()
        for name, value in document.items():
            if name in FREE:
                _fill(getattr(message, name), value)
            elif value is not None:
                setattr(message, name, value)
        return bytes(message.SerializeToString())

    def decode(data: bytes) -> Any:
        message = message_class.FromString(data)
        return {
            field.name: _read(value) if field.name in FREE else value for field, value in message.ListFields()
        }

    return Codec("protobuf typed", "Protocol Buffers", version("protobuf"), encode, decode)


def _record_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2

    file = descriptor_pb2.FileDescriptorProto(
        name="toolog/bench/record.proto", package="toolog.bench", syntax="proto3"
    )
    file.dependency.append("google/protobuf/struct.proto")
    record = file.message_type.add(name="Record")
    kinds = descriptor_pb2.FieldDescriptorProto
    facts = [(name, kinds.TYPE_STRING) for name in TEXTS]
    facts += [("depth", kinds.TYPE_INT32), ("duration_ms", kinds.TYPE_DOUBLE)]
    for number, (name, kind) in enumerate(facts, 1):
        record.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    for number, name in enumerate(FREE, 30):
        field = record.field.add(
            name=name, number=number, type=kinds.TYPE_MESSAGE, label=kinds.LABEL_OPTIONAL
        )
        field.type_name = ".google.protobuf.Value"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("toolog.bench.Record"))


def _fill(target: Any, value: Any) -> None:
    if isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif value is None:
        target.null_value = 0
    elif isinstance(value, dict):
        target.struct_value.SetInParent()
        fields = target.struct_value.fields
        for key, inner in value.items():
            _fill(fields[key], inner)
    elif isinstance(value, list):
        target.list_value.SetInParent()
        for inner in value:
            _fill(target.list_value.values.add(), inner)
    else:
        target.number_value = value


def _read(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {key: _read(inner) for key, inner in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_read(inner) for inner in value.list_value.values]
    return None if kind == "null_value" else getattr(value, kind)


MAKERS: dict[str, Callable[[], Codec]] = {
    "json": _stdlib,
    "orjson": _orjson,
    "msgspec json": _msgspec_json,
    "msgpack": _msgpack,
    "ormsgpack": _ormsgpack,
    "msgspec msgpack": _msgspec_msgpack,
    "protobuf Struct": _protobuf_struct,
    "protobuf typed": _protobuf_typed,
}
"""Name -> what makes it; the standard library's json is what all are compared with."""


def installed() -> tuple[list[Codec], list[str]]:
    """Return the codecs that can run here, and the names of those whose library is missing."""
    codecs, missing = [], []
    for name, make in MAKERS.items():
        try:
            codecs.append(make())
        except (ImportError, PackageNotFoundError):
            missing.append(name)
    return codecs, missing
