"""Every way out of a process: secrets go in by every door, and `assert_no_leaks` looks at all that comes
out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.services.opensearch import OpenSearch
from tests.services.seaweedfs import SeaweedFS
from tests.sinks.s3.bucket import Archive
from tests.sinks.search.cluster import Cluster
from toolog.testing import assert_no_leaks

SECRETS = [
    "hunter2-" + "invented",
    "dana.invented" + "@" + "example.com",
    "1381234" + "5678",
    "sk-" + "Ab3dE5fG7hJ9kL1mN3pQ5r",
    'correct horse "quoted" ü/+&',
]
PROGRAM = """
import contextlib, faulthandler, io, json, logging, logging.config, os, sys, threading
import toolog

SECRETS = json.loads(os.environ["MADE_SECRETS"])
PASSWORD, MAIL, PHONE, KEY, PHRASE = SECRETS

class Refusing:
    "A sink that refuses every record, and says why with a secret."
    def __init__(self, *, name="refusing"):
        self.name = name
    def connect(self): pass
    def write(self, batch):
        raise toolog.SinkRejected(f"cannot store password={PASSWORD} for {MAIL}")
    def close(self): pass

class Breaking:
    "A sink that breaks, and says why with a secret."
    def __init__(self, *, name="breaking"):
        self.name = name
    def connect(self):
        raise toolog.SinkUnavailable(f"https://bob:{PASSWORD}@h.example/?token={KEY} refused {PHONE}")
    def write(self, batch): pass
    def close(self): pass

class Everything(logging.Formatter):
    "A foreign formatter that prints all it can reach."
    def format(self, record):
        shown = {name: getattr(record, name, None) for name in dir(record) if not name.startswith("_")}
        plain = {name: repr(value) for name, value in shown.items() if not callable(value)}
        return super().format(record) + repr(record) + str(record) + repr(plain)

class Shop:
    def __init__(self, region, api_key, password=None):
        self.region, self.api_key, self.password = region, api_key, password
    def find(self, sku, password=None, contact=None):
        print("logging in with password:", password, "for", contact)
        logging.getLogger("app").warning("token=%s for %s", KEY, {"phone": PHONE, "password": PHRASE})
        return {"rows": [{"mail": MAIL, "api_key": KEY}], "text": f"call {PHONE}, write to {MAIL}",
                "nested": json.dumps({"a": json.dumps({"password": PHRASE})}), b"secret": PASSWORD.encode()}
    def fail(self, url):
        try:
            raise KeyError(f"no user {MAIL}")
        except KeyError as error:
            error.add_note(f"password={PASSWORD}")
            raise ValueError(f"401 for {url} with Bearer {KEY}, passphrase: {json.dumps(PHRASE)}") from error
    def __repr__(self):
        return f"Shop({self.api_key}, {self.password})"

stream = open("foreign.log", "w", encoding="utf-8")
foreign = logging.StreamHandler(stream)
foreign.setFormatter(Everything("%(message)s"))
foreign.addFilter(toolog.Sanitizer(known_secrets=SECRETS))
logging.getLogger().addHandler(foreign)
logging.getLogger("toolog.internal").addHandler(foreign)
sinks = {{
    "console": {{"type": "console"}},
    "lines": {{"type": "file", "path": "out/calls.jsonl"}},
    "store": {{"type": "sqlite", "path": "out/calls.db"}},
    "memory": {{"type": "memory"}},
    "refusing": {{"type": "__main__:Refusing"}},
    "breaking": {{"type": "__main__:Breaking"}},
    **json.loads(os.environ.get("MADE_SINKS", "{{}}")),
}}
handler = toolog.ToologHandler(
    durability="process", spool={{"path": "spool"}}, sinks=sinks, serializer=os.environ["MADE_SERIALIZER"],
    sanitizer={{"known_secrets": SECRETS}}, level="DEBUG", shutdown_timeout="3 s",
)
calls = logging.getLogger("toolog.calls")
calls.addHandler(handler)
calls.setLevel("DEBUG")
logging.getLogger("app").addHandler(handler)
toolog.instrument(Shop)
shop = Shop("eu", KEY, password=PASSWORD)
threading.current_thread().name = f"worker password={{PASSWORD}}"
with toolog.session(f"order of {{MAIL}}"), toolog.bind(contact=PHONE, password=PHRASE):
    shop.find("A-1", PASSWORD, contact=MAIL)
    shop.find(sku=PHRASE, password=[PASSWORD], contact={{"mobile": PHONE}})
    for url in (f"https://x.example/?api_key={{KEY}}&mail={{MAIL}}", f"https://bob:{{PASSWORD}}@x.example/"):
        with contextlib.suppress(ValueError):
            shop.fail(url)
    try:
        shop.fail("x")
    except ValueError:
        logging.getLogger("app").exception("it failed with password=%s", PASSWORD)
toolog.flush(5)
ours = [handler, handler.filters, toolog.stats()]
ours += [toolog.Sanitizer(known_secrets=SECRETS, hmac_key=PASSWORD)]
with open("reprs.txt", "w", encoding="utf-8") as file:
    print([repr(one) + str(one) for one in ours], file=file)
    faulthandler.dump_traceback(file)
stream.flush()
"""


def run(folder: Path, serializer: str, sinks: dict[str, Any] | None = None) -> str:
    """Run the program in a folder; return what it printed on stdout and stderr, but for what the tool
    printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
    environment |= {"MADE_SECRETS": json.dumps(SECRETS), "MADE_SERIALIZER": serializer}
    environment |= {"MADE_SINKS": json.dumps(sinks or {}), "TOOLOG_CAPTURE_OUTPUT": "true"}
    program = textwrap.dedent(PROGRAM.replace("{{", "{").replace("}}", "}"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    printed = [line for line in done.stdout.splitlines() if not line.startswith("logging in with password:")]
    return "\n".join([*printed, done.stderr])


@pytest.mark.parametrize("serializer", ["msgpack", "json"])
def test_nothing_that_leaves_a_process_holds_a_secret(serializer: str, tmp_path: Path) -> None:
    """Console, files, store, spool, dead letters, foreign formatters, our own log and reprs show none."""
    printed = run(tmp_path, serializer)
    assert "find" in printed
    names = {str(path.relative_to(tmp_path)).split("/")[0] for path in tmp_path.rglob("*")}
    assert {"out", "spool", "foreign.log", "reprs.txt"} <= names
    assert (tmp_path / "spool" / "dead-letters" / "refusing.jsonl").stat().st_size > 0
    assert (tmp_path / "foreign.log").stat().st_size > 0
    assert_no_leaks(SECRETS, tmp_path, printed)


def test_nothing_that_reaches_a_server_holds_a_secret(
    tmp_path: Path, opensearch: OpenSearch, seaweedfs: SeaweedFS, bucket: str, namespace: str
) -> None:
    """What the search cluster and the bucket were given shows no secret, in any document and object."""
    archive = Archive(seaweedfs, bucket, "calls/")
    streams = Cluster(opensearch.url, namespace)
    sinks = {
        "search": {"type": "opensearch", "hosts": [opensearch.url], "namespace": namespace},
        "archive": {key: value for key, value in archive.options().items() if key != "batch"},
    }
    run(tmp_path, "msgpack", sinks)
    streams.ask("POST", f"/toolog-*-{namespace}/_refresh")
    status, answer = streams.ask("POST", f"/toolog-*-{namespace}/_search", {"size": 1000})
    assert status == 200
    hits = answer["hits"]["hits"]
    assert len(hits) >= 6
    for key in archive.list_keys():
        path = tmp_path / "objects" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.client.get_object(Bucket=bucket, Key=key)["Body"].read())
    assert archive.list_keys()
    assert_no_leaks(SECRETS, hits, tmp_path)


def test_the_audit_sees_what_such_a_program_would_leak(tmp_path: Path) -> None:
    """The same search finds the secret when one thing of all that came out holds it: the test can fail."""
    run(tmp_path, "msgpack")
    with open(tmp_path / "out" / "calls.jsonl", "a", encoding="utf-8") as stream:
        stream.write(json.dumps({"message": SECRETS[4]}) + "\n")
    with pytest.raises(AssertionError, match=r"calls\.jsonl.*secret 5, JSON-escaped") as caught:
        assert_no_leaks(SECRETS, tmp_path)
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
