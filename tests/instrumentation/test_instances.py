"""Tool instances: how a tool was set up, one record for each live object, and calls tied to it."""

from __future__ import annotations

import copy
import dataclasses
import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path
from types import FunctionType
from typing import Any

import attrs
import pydantic
import pytest
from tooling import Namespaces, calls, instances, names, package

from tests.helpers import Collector
from toolog.errors import ConfigError
from toolog.instances import instance_id, recreate
from toolog.instrumentation.entry import instrument
from toolog.settings import capture


class Mail:
    def __init__(self, host: str, /, port: int = 25, *relays: str, tls: bool = True, **more: Any) -> None:
        self.host = host
        self.port = port
        self.started = [host]

    def send(self, to: str) -> str:
        return f"{self.host}:{self.port} {to}"


class SecureMail(Mail):
    def __init__(self, host: str, key: str = "k") -> None:
        super().__init__(host, 465, tls=True)
        self.key = key


def test_constructor_arguments_are_captured_by_name_with_defaults(seen: Collector) -> None:
    """One record tells class and configuration; the call names the same instance."""
    instrument(Mail)
    mail = Mail("mx", 26, "a", "b", retries=3)
    (made,) = instances(seen)
    assert made["config"] == {
        "host": "mx", "port": 26, "relays": ["a", "b"], "tls": True, "more": {"retries": 3},
    }  # fmt: skip
    assert made["tool"]["qualname"] == "Mail"
    assert made["tool"]["module"] == __name__
    assert made["config_hash"]
    assert made["created_at"].endswith("Z")
    assert "trace_id" not in made
    seen.records.clear()
    mail.send("x")
    mail.send("y")
    assert {record["instance_id"] for record in calls(seen)} == {made["instance_id"]} == {instance_id(mail)}


def test_arguments_are_snapshotted_before_the_constructor_runs(seen: Collector) -> None:
    """A constructor that changes its arguments does not change what is told."""

    class Eater:
        def __init__(self, options: dict[str, int]) -> None:
            self.n = options.pop("n")

        def get(self) -> int:
            return self.n

    instrument(Eater)
    Eater({"n": 1})
    assert instances(seen)[0]["config"] == {"options": {"n": 1}}


@dataclasses.dataclass
class Feed:
    url: str
    tags: list[str] = dataclasses.field(default_factory=lambda: ["new"])
    limits: dict[str, int] = dataclasses.field(default_factory=dict)
    guard: Any = dataclasses.field(default_factory=threading.Lock)

    def read(self) -> str:
        return self.url


@attrs.define
class Queue:
    _name: str
    _items: list[int] = attrs.field(factory=list)
    sizes: dict[str, int] = attrs.Factory(lambda self: {"name": len(self._name)}, takes_self=True)

    def take(self) -> int:
        return self._items[0]


@pytest.mark.parametrize(
    ("make", "config"),
    [
        (lambda: Feed("u"), {"url": "u", "tags": ["new"], "limits": {}}),
        (lambda: Feed("u", [], limits={"a": 1}), {"url": "u", "tags": [], "limits": {"a": 1}}),
        (lambda: Queue("q"), {"name": "q", "items": [], "sizes": {"name": 1}}),
        (lambda: Queue("q", [3], {}), {"name": "q", "items": [3], "sizes": {}}),
    ],
)
def test_what_a_default_factory_made_is_told_where_it_is_plain_data(
    seen: Collector, make: Any, config: dict[str, Any]
) -> None:
    """The configuration has the value and not the marker in the signature, and builds the tool again."""
    instrument([Feed, Queue])
    first = make()
    (record,) = instances(seen)
    assert record["config"] == config
    again = recreate(record, [Feed, Queue])
    assert type(again) is type(first)
    assert instances(seen)[1]["config"] == config


def test_an_implementation_of_a_protocol_has_its_own_constructor_run(seen: Collector, tmp_path: Path) -> None:
    """What `typing` does about a protocol's constructor it does in an instrumented package, too; undo leaves
    the very classes that would be there without us.
    """
    source = {
        "__init__.py": """
            from typing import Protocol
            class Readable(Protocol):
                def read(self): ...
            class Base:
                def __init__(self, path="p"): self.path = path
            class File(Readable, Base):
                def read(self): return self.path
            class Empty(Readable):
                def read(self): return ""
            """
    }
    with package(tmp_path, "protocolpkg", source) as module:
        with instrument(module):
            assert module.File("a").read() == module.File("a").read() == "a"
            with pytest.raises(TypeError, match="argument"):
                module.Empty(1)
            assert module.Empty().read() == ""
            configs = [record["config"] for record in instances(seen)]
            assert configs == [{"path": "a"}, {"path": "a"}, {}]
        assert vars(module.File)["__init__"] is vars(module.Base)["__init__"]
        assert type(module.File.__init__) is FunctionType


def test_the_outermost_constructor_wins(seen: Collector) -> None:
    """What super().__init__ is given is the subclass's business, whichever of the two was instrumented."""
    instrument([Mail, SecureMail])
    SecureMail("mx", key="other")
    (made,) = instances(seen)
    assert made["tool"]["qualname"] == "SecureMail"
    assert made["config"]["host"] == "mx"
    assert set(made["config"]) == {"host", "key"}


class Single:
    """One object for all, set up by whoever asks for it."""

    once = False
    made: Any = None

    def __new__(cls, *given: Any) -> Any:
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made

    def __init__(self, city: str) -> None:
        if city == "nowhere":
            raise LookupError(city)
        if not (self.once and vars(self)):
            self.city = city

    def run(self) -> str:
        return self.city


def test_an_object_that_is_set_up_anew_is_told_anew(seen: Collector) -> None:
    """A singleton whose constructor runs again with something else has another record and id; a
    constructor that raises leaves what was."""

    class Shared(Single): ...

    instrument([Single, Shared])
    assert [Shared(city).run() for city in ("Bern", "Bern", "Rome")] == ["Bern", "Bern", "Rome"]
    with pytest.raises(LookupError):
        Shared("nowhere")
    Shared.made.run()
    bern, rome = instances(seen)
    assert (bern["config"], rome["config"]) == ({"city": "Bern"}, {"city": "Rome"})
    assert rome["instance_id"] != bern["instance_id"]
    assert Shared("Bern").run() == "Bern"
    assert instances(seen)[2]["recreated_from"] == bern["instance_id"]  # set up as it was before
    seen.records.pop()
    assert [call["instance_id"] for call in calls(seen)] == [
        *[bern["instance_id"]] * 2, *[rome["instance_id"]] * 2,
    ]  # fmt: skip


def test_an_object_that_only_asks_again_stays_what_it_is(seen: Collector) -> None:
    """A constructor that does nothing the second time, or that of a base class called later, sets nothing
    up."""

    class Once(Single):
        once = True

    instrument([Single, Once, Mail, SecureMail])
    assert [Once("Bern").run(), Once("Rome").run()] == ["Bern", "Bern"]
    mail = SecureMail("mx")
    Mail.__init__(mail, "other", 25)
    mail.send("x")
    assert [made["config"] for made in instances(seen)] == [{"city": "Bern"}, {"host": "mx", "key": "k"}]
    assert len({call["instance_id"] for call in calls(seen)}) == 2


def test_an_object_that_existed_before_is_captured_from_its_state(seen: Collector) -> None:
    """Parameters are read from the attributes that keep them; else the whole state is told, at the first
    call."""
    secure, mail = SecureMail("mx"), Mail("mx")
    instrument([Mail, SecureMail])
    assert instances(seen) == []
    secure.send("x")
    mail.send("x")
    first, second = instances(seen)
    assert set(first["config"]) == {"host", "key"}
    assert second["config"] == {"host": "mx", "port": 25, "started": ["mx"]}
    assert len(calls(seen)) == 2


class Model(pydantic.BaseModel):
    city: str = "Bern"
    token: pydantic.SecretStr = pydantic.SecretStr("not a real one")

    def get(self) -> str:
        return self.city


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    city: str = "Bern"
    days: int = 3

    def get(self) -> str:
        return self.city


@pytest.mark.parametrize(
    "make",
    [
        Model,
        lambda: Model(city="Bern"),
        lambda: Model.model_validate({"city": "Bern"}),
        Model.model_construct,
    ],
)
def test_a_pydantic_model_is_captured_however_it_was_made(seen: Collector, make: Any) -> None:
    """Models that never call a constructor of the class are captured, their secrets masked."""
    instrument(Model)
    model = make()
    model.get()
    (made,) = instances(seen)
    assert made["config"]["city"] == "Bern"
    assert "not a real one" not in str(made)
    assert [record["instance_id"] for record in calls(seen)] == [made["instance_id"]]


def test_slots_without_weak_references_are_known_too(seen: Collector) -> None:
    """An object that takes no weak reference has an instance_id of its own, and a later one at its address,
    too."""
    instrument(Slotted)
    seen_ids = set()
    for days in range(5):
        thing = Slotted(days=days)
        thing.get()
        seen_ids.add(instance_id(thing))
        del thing
    assert len(seen_ids) == 5
    assert [made["config"]["days"] for made in instances(seen)] == [0, 1, 2, 3, 4]


class Liar:
    """Says it equals everything, cannot be hashed, and raises when asked for anything unusual."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __bool__(self) -> bool:
        raise RuntimeError("truth")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def get(self) -> int:
        return 1


def test_objects_that_lie_about_equality_are_told_apart(seen: Collector) -> None:
    """Identity is what counts: nothing is hashed, compared or printed."""
    instrument(Liar)
    one, two = Liar(), Liar()
    for thing in (one, two, one):
        thing.get()
    ids = [record["instance_id"] for record in calls(seen)]
    assert ids[0] == ids[2] != ids[1]


def test_no_object_is_kept_alive(seen: Collector) -> None:
    """Objects are known by weak references; a cycle is collected, finalizer and all."""

    class Looping:
        def __init__(self) -> None:
            self.me = self

        def get(self) -> int:
            return 1

        def __del__(self) -> None:
            self.get()

    instrument(Looping)
    gone = weakref.ref(Looping())
    assert len(instances(seen)) == 1
    gc.collect()
    assert gone() is None


def test_a_finalizer_of_an_object_in_a_cycle_calls_on_the_same_instance(seen: Collector) -> None:
    """The collector takes the weak references first; what ``__del__`` calls still belongs to the object."""

    class Connection:
        def __init__(self) -> None:
            self.itself = self

        def close(self) -> None:
            pass

        def __del__(self) -> None:
            self.close()

    instrument(Connection)
    opened = Connection()
    opened.close()
    del opened
    gc.collect()
    told = [item["instance_id"] for item in instances(seen)]
    first, second = calls(seen)
    assert told == [first["instance_id"]] == [second["instance_id"]]


@pytest.mark.parametrize("how", ["class", "setting"])
def test_a_configuration_can_be_left_out(seen: Collector, how: str) -> None:
    """`serializable = False` on a class, or capture_config=False, leaves it out; the instance is still
    known."""

    class Quiet(Mail):
        serializable = how != "class"

    instrument(Quiet)
    held, capture.capture_config = capture.capture_config, how != "setting"
    try:
        Quiet("mx").send("x")
    finally:
        capture.capture_config = held
    (made,) = instances(seen)
    assert made.get("config") is None
    assert made.get("config_hash") is None
    assert calls(seen)[0]["instance_id"] == made["instance_id"]


def test_equal_configurations_have_equal_hashes(seen: Collector) -> None:
    """Instances that are set up alike can be grouped; secrets do not enter the hash in clear."""
    instrument(Mail)
    held = [Mail("a"), Mail("a"), Mail("b")]
    first, second, third = instances(seen)
    assert first["config_hash"] == second["config_hash"] != third["config_hash"]
    assert "recreated_from" not in second or second["recreated_from"] is None
    del held


def test_an_instance_made_again_after_its_predecessor_is_gone_is_linked(seen: Collector) -> None:
    """Same class, same configuration, the earlier one gone: recreated_from names it."""
    instrument(Mail)
    Mail("lineage")
    gc.collect()
    Mail("lineage")
    first, second = instances(seen)
    assert second["recreated_from"] == first["instance_id"]


def test_recreate_builds_the_tool_from_its_record(seen: Collector) -> None:
    """Positional-only, *args, keyword-only and **kwargs find their way back; the new record names the old
    one."""
    instrument(Mail)
    Mail("mx", 26, "a", "b", tls=False, retries=3)
    (made,) = instances(seen)
    for registry in ([Mail], {"Mail": Mail}, {f"{__name__}.Mail": Mail}):
        again = recreate(made, registry)
        assert (type(again), again.host, again.port) == (Mail, "mx", 26)
    later = instances(seen)[1:]
    assert [record["recreated_from"] for record in later] == [made["instance_id"]] * 3
    assert all(record["config"] == made["config"] for record in later)
    again.send("x")
    assert calls(seen)[-1]["instance_id"] == later[-1]["instance_id"]


def test_recreate_asks_for_masked_values(seen: Collector) -> None:
    """A masked secret cannot be guessed: the error names it, and a function in the registry fills it in."""
    record = {
        "event": "tool_instance", "instance_id": "i1", "tool": {"module": "m", "qualname": "Mail"},
        "config": {"host": "mx", "tls": "[MASKED:password]"},
    }  # fmt: skip
    with pytest.raises(ConfigError, match="tls of Mail is masked"):
        recreate(record, [Mail])
    again = recreate(record, {"Mail": lambda host, tls: Mail(host, tls=True)})
    assert again.host == "mx"
    with pytest.raises(ConfigError, match=r"no m\.Mail; did you mean 'Mall'"):
        recreate(record, {"Mall": Mail})
    with pytest.raises(ConfigError, match="no configuration"):
        recreate({**record, "config": None}, [Mail])
    with pytest.raises(ConfigError, match="tool_instance record"):
        recreate({"event": "log"}, [Mail])


def test_recreate_takes_no_value_for_what_was_masked_or_cut(seen: Collector) -> None:
    """A mask at any depth, and a text or list that was cut (which the record tells), are asked for."""
    instrument(Mail)
    Mail(
        "mx",
        headers={"Authorization": "Basic dXNlcjpwYXNzd29yZA=="},
        body="x" * 100_000,
        to=list(range(2000)),
    )
    Mail("m" * 100_000, 25, list(range(2000)))
    first, second = instances(seen)
    with pytest.raises(ConfigError, match="more of Mail is masked in the record"):
        recreate(first, [Mail])
    with pytest.raises(ConfigError, match="host of Mail was cut, relays of Mail was cut in the record"):
        recreate(second, [Mail])
    assert first["truncated"]["config.more.to"] == {"size": 2000, "unit": "items", "kept": 1000}
    assert set(second["truncated"]) == {"config.host", "config.relays[0]"}
    again = recreate(second, {"Mail": lambda **config: Mail("mx", config["port"])})
    assert (again.host, again.port) == ("mx", 25)


def test_a_record_without_its_id_cannot_be_recreated() -> None:
    """The error says what the record lacks."""
    with pytest.raises(ConfigError, match="has no instance_id"):
        recreate({"event": "tool_instance"}, [Mail])


@pytest.mark.parametrize("record", [None, "record", 5, [{}], {"event": "log"}])
def test_what_is_no_record_cannot_be_recreated(record: Any) -> None:
    """The error says what `recreate` takes."""
    with pytest.raises(ConfigError, match="recreate takes a tool_instance record, not"):
        recreate(record, [Mail])


def test_a_constructor_that_raises_leaves_nothing(seen: Collector) -> None:
    """The exception passes through and no instance is told of."""

    class Picky(Mail):
        def __init__(self, host: str) -> None:
            super().__init__(host)
            raise ValueError("no")

    instrument([Mail, Picky])
    with pytest.raises(ValueError, match="no"):
        Picky("mx")
    assert instances(seen) == []


def test_what_a_constructor_calls_is_no_tool_call_of_a_plain_client(seen: Collector, tmp_path: Path) -> None:
    """`Database(path)` executes a PRAGMA: no record; a module's tools are not nested, a class's are."""
    source = """
        class Database:
            def __init__(self, path=":memory:"):
                self.execute("pragma")
            def execute(self, sql):
                return sql
    """
    with package(tmp_path, "pragmatic", {"__init__.py": source}) as module:
        with instrument(module):
            module.Database().execute("select")
            assert [record["input"] for record in calls(seen)] == [{"sql": "select"}]
        with instrument(module.Database):
            module.Database()
            assert names(seen) == ["Database.execute"]


def test_what_a_package_makes_for_itself_is_told_at_its_first_call(seen: Collector, tmp_path: Path) -> None:
    """Objects that a call of the package makes inside are recorded only when the agent uses them."""
    source = """
        class Response:
            def __init__(self, text): self.text = text
            def json(self): return self.text
        def get(url): Response("unused"); return Response(url)
    """
    with package(tmp_path, "making", {"__init__.py": source}) as module:
        instrument(module)
        response = module.get("u")
        assert instances(seen) == []
        response.json()
        assert [made["config"] for made in instances(seen)] == [{"text": "u"}]


def test_introspection_and_undo_of_a_class_with_a_wrapped_constructor(seen: Collector) -> None:
    """The class's signature stays, its constructor can be called by name, and undo restores it."""
    import inspect

    copy.copy(Mail("mx"))  # copyreg notes a class's slots on the class itself the first time
    before, signature = Namespaces(Mail, SecureMail), inspect.signature(Mail)
    made = instrument([Mail, SecureMail])
    assert inspect.signature(Mail) == signature
    blank = Mail.__new__(Mail)
    Mail.__init__(blank, "mx")
    assert blank.host == "mx"
    assert copy.copy(blank).send("x") == "mx:25 x"
    made.undo()
    assert before.differences() == []
    assert sys.modules[__name__].Mail is Mail


def test_objects_that_outlive_toolog_end_in_silence(tmp_path: Path) -> None:
    """Tools that other modules hold end after this package when the interpreter ends; nothing is printed."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys
            import toolog, toolog.testing

            class Shop:
                def find(self, sku):
                    return sku

            toolog.instrument(Shop)
            with toolog.testing.capture():
                for module in list(sys.modules.values()):
                    shop = Shop()
                    shop.find("A-1001")
                    try:
                        module.keeper = shop
                    except Exception:
                        pass
            find = Shop.find
            """
        )
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
