"""What is written beside records is masked by all sanitizers in use: hashes, names of threads, reasons of
sinks."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

import toolog
from tests.helpers import collecting
from toolog.errors import ConfigError
from toolog.instances import config_hash
from toolog.pipeline.answers import words_of
from toolog.sanitize import Sanitizer, inuse, prefilter
from toolog.settings import capture

SECRET = "Zq9-" + "invented"
PIN = {"region": "eu", "customer_ref": "4711"}


@pytest.fixture
def keyed() -> Iterator[str]:
    """Capture with a key for hashes."""
    held, capture.hash_key = capture.hash_key, "a key of the tests"
    yield "a key of the tests"
    capture.hash_key = held


def test_a_hash_without_a_key_covers_only_what_is_shown() -> None:
    """A short secret that a handler's own words hide cannot be guessed from the hash: another one gives
    the same."""
    plain = config_hash(PIN)
    assert plain != config_hash({**PIN, "customer_ref": "4712"})
    own = Sanitizer(keys_add=["customer_ref"])
    inuse.enlist(own)
    hidden = config_hash(PIN)
    assert hidden == config_hash({**PIN, "customer_ref": "4712"}) != plain
    assert hidden.startswith("sha256:")
    del own
    gc.collect()
    assert config_hash(PIN) == plain


def test_a_hash_with_a_key_covers_secrets_and_needs_the_key(keyed: str) -> None:
    """With a key a changed secret changes the hash, and only who has the key can make it."""
    first = config_hash({"password": SECRET, "region": "eu"})
    assert first == config_hash({"region": "eu", "password": SECRET})
    assert first != config_hash({"password": SECRET[::-1], "region": "eu"})
    data = orjson.dumps({"password": SECRET, "region": "eu"}, option=orjson.OPT_SORT_KEYS)
    assert first == "hmac:" + hmac.new(keyed.encode(), data, hashlib.sha256).hexdigest()[:32]
    assert first != "sha256:" + hashlib.sha256(data).hexdigest()[:32]


def test_a_key_for_hashes_is_given_by_configuration(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hash_key` is read from the environment; one that is too short is refused, and is not shown."""
    from toolog.settings.resolve import resolve

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLOG_HASH_KEY", "made-key-1")
    assert resolve(("capture",), {}, where="arguments")["hash_key"] == "made-key-1"
    monkeypatch.setenv("TOOLOG_HASH_KEY", "mad3k3y")
    with pytest.raises(ConfigError, match="at least 8 characters") as caught:
        resolve(("capture",), {}, where="arguments")
    assert "mad3k3y" not in str(caught.value)


def test_names_of_threads_and_tasks_are_masked() -> None:
    """A thread or task that is named after a secret does not carry it into records, of tools or of
    anybody."""

    @toolog.tool
    async def ask(question: str) -> str:
        return question

    async def run() -> None:
        await asyncio.create_task(ask("how"), name=f"ask password={SECRET}")

    lines: list[str] = []

    class Names(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.threadName} {getattr(record, 'taskName', None)}")

    foreign = Names()
    foreign.addFilter(Sanitizer())
    other = logging.getLogger("tests.inuse")
    other.addHandler(foreign)
    try:
        with collecting() as seen:

            def work() -> None:
                asyncio.run(run())
                other.warning("done")

            thread = threading.Thread(target=work, name=f"worker token={SECRET}")
            thread.start()
            thread.join()
    finally:
        other.removeHandler(foreign)
    process = seen.only()["process"]
    assert process["thread"] == "worker token=[MASKED:token]"
    assert process["task"] == "ask password=[MASKED:password]"
    assert lines
    assert SECRET not in lines[0]


def test_what_a_sink_says_is_masked_by_the_words_in_use() -> None:
    """The reason that stands with a dead letter hides what a record would, also a secret declared by the
    user."""
    own = Sanitizer(known_secrets=["correct horse"])
    inuse.enlist(own)
    said = words_of(ValueError(f"cannot store correct horse, password={SECRET}"))
    assert said == "cannot store [MASKED:known_secret], password=[MASKED:password]"
    del own


def test_a_scan_that_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of patterns that needs more memory than any may have is an error, not a scan that sees
    nothing."""
    monkeypatch.setattr(prefilter, "_MOST_MEMORY", 1 << 12)
    with pytest.raises(ConfigError, match="too many"):
        Sanitizer(known_secrets=[f"made secret {number:05}" for number in range(2000)])


def test_a_scan_gets_as_much_memory_as_it_needs() -> None:
    """What does not fit into little memory is tried with more until every group is seen."""
    patterns = [f"made secret {number:05} [a-z]{{40}}" for number in range(3000)]
    scan = prefilter._set([patterns, ["other"]], 1 << 16)
    assert scan(b"made secret 02999 " + b"q" * 40) == [0]
    assert scan(b"another one") == [1]
    assert scan(b"nothing") == []
