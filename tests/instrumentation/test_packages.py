"""Real packages, unedited: one call of the agent's is one record, checked one by one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import boto3
import feedparser
import httpx
import llm
import pytest
import requests
import sqlite_utils
from tooling import Namespaces, calls, instances, names

from tests.helpers import Collector
from tests.web import Answers, serving
from toolog.instrumentation.entry import instrument

BUCKETS = b"""<?xml version="1.0"?>
<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>1</ID></Owner><Buckets>
<Bucket><Name>first</Name><CreationDate>2024-01-01T00:00:00Z</CreationDate></Bucket></Buckets>
</ListAllMyBucketsResult>"""

FEED = """<rss version="2.0"><channel><title>News</title><item><title>One</title></item></channel></rss>"""


class _Answers(Answers):
    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/here")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = BUCKETS if "s3/aws4_request" in self.headers.get("Authorization", "") else b'{"answer": 42}'
        self.answer(body, status=200 if "missing" not in self.path else 404)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A small web server on this machine."""
    with serving(_Answers) as port:
        yield f"http://127.0.0.1:{port}"


def test_requests(seen: Collector, server: str) -> None:
    """One record for Session.get (a naive wrapper makes 17), its redirect included; one for requests.get."""
    before = Namespaces(requests, requests.Session, requests.Response, requests.api, requests.sessions)
    made = instrument(requests)
    with requests.Session() as session:
        answer = session.get(f"{server}/moved", params={"q": "x"})
    (record,) = calls(seen)
    assert (record["tool_name"], record["status"]) == ("Session.get", "success")
    assert record["input"]["url"] == f"{server}/moved"
    assert {"q": "x"} in (record["input"].get("params"), record["input"]["kwargs"].get("params"))
    assert (record["tool"]["module"], record["tool"]["package"]) == ("requests.sessions", "requests")
    assert record["tool"]["version"] == requests.__version__
    assert answer.json() == {"answer": 42}
    assert requests.get(f"{server}/here").status_code == 200
    with pytest.raises(requests.HTTPError):
        requests.get(f"{server}/missing").raise_for_status()
    found = calls(seen)
    assert [(item["tool_name"], item["status"]) for item in found] == [
        ("Response.json", "success"), ("get", "success"), ("get", "success"),
        ("Response.raise_for_status", "execution_error"),
    ]  # fmt: skip
    assert found[-1]["error"]["type"].endswith("HTTPError")
    made.undo()
    assert before.differences() == []


def test_httpx(seen: Collector, server: str) -> None:
    """One record a request, with the sync client, the async one and the function."""
    instrument(httpx)
    with httpx.Client(follow_redirects=True) as client:
        assert client.get(f"{server}/moved").json() == {"answer": 42}

    async def fetch() -> int:
        async with httpx.AsyncClient() as client:
            return (await client.get(server)).status_code

    assert asyncio.run(fetch()) == 200
    httpx.get(server)
    assert names(seen) == ["Client.get", "Response.json", "AsyncClient.get", "get"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_boto3(seen: Collector, server: str, when: str) -> None:
    """One record for list_buckets (a naive wrapper makes 2,227), whether the client was made before or
    after."""

    def make() -> Any:
        return boto3.client(
            "s3", endpoint_url=server, aws_access_key_id="invented", aws_secret_access_key="made-up-secret",
            region_name="eu-west-1",
        )  # fmt: skip

    client = make() if when == "before" else None
    made = instrument(boto3)
    if client is None:
        client = make()
        (record,) = calls(seen)
        assert record["tool_name"] == "client"
        assert "made-up-secret" not in str(record)
    assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == ["first"]
    (record,) = calls(seen)
    assert (record["tool_name"], record["input"]) == ("S3.list_buckets", {"args": [], "kwargs": {}})
    assert record["output"]["Buckets"][0]["Name"] == "first"
    made.undo()
    client.list_buckets()
    assert calls(seen) == []


def test_one_boto3_client_as_target(seen: Collector, server: str) -> None:
    """A single client object can be instrumented; another one stays as it was."""
    one, other = (
        boto3.client(
            "s3", endpoint_url=server, aws_access_key_id="invented", aws_secret_access_key="made-up-secret",
            region_name="eu-west-1",
        )
        for _ in range(2)
    )  # fmt: skip
    instrument(one)
    one.list_buckets()
    other.list_buckets()
    assert names(seen) == ["S3.list_buckets"]


def test_sqlite_utils(seen: Collector) -> None:
    """The constructor's PRAGMA, a subscript and a property are no tool calls; an insert is one."""
    before = Namespaces(sqlite_utils, sqlite_utils.Database, sqlite_utils.db.Table, sqlite_utils.db.Queryable)
    made = instrument(sqlite_utils)
    database = sqlite_utils.Database(memory=True)
    (instance,) = instances(seen)
    assert instance["config"]["memory"] is True
    table = database["people"]
    assert names(seen) == []
    table.insert_all([{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}], pk="id")
    assert table.count == 2
    (record,) = calls(seen)
    assert record["tool_name"] == "Table.insert_all"
    assert record["input"]["records"][0] == {"id": 1, "name": "Ann"}
    assert record["input"]["pk"] == "id"
    assert [row["name"] for row in database.query("select name from people")] == ["Ann", "Bo"]
    (record,) = calls(seen)
    assert (record["tool_name"], record["output"]) == ("Database.query", [{"name": "Ann"}, {"name": "Bo"}])
    with pytest.raises(Exception, match="no such table"):
        database.execute("select * from absent")
    (record,) = calls(seen)
    assert (record["tool_name"], record["status"]) == ("Database.execute", "execution_error")
    database.close()
    made.undo()
    assert before.differences() == []


def test_feedparser(seen: Collector) -> None:
    """One record for parse, whatever the parsers call among themselves."""
    instrument(feedparser)
    assert feedparser.parse(FEED).entries[0].title == "One"
    (record,) = calls(seen)
    assert record["tool_name"] == "parse"
    assert record["output"]["feed"]["title"] == "News"


class Memory(llm.Toolbox):
    """A toolbox as users of llm write them."""

    def __init__(self, prefix: str = "m") -> None:
        self.prefix = prefix
        self.held: dict[str, str] = {}

    def keep(self, key: str, value: str) -> str:
        """Keep a value."""
        self.held[key] = value
        return f"{self.prefix}:{key}"

    def recall(self, key: str) -> str:
        """Give a value back."""
        return self.held[key]


def test_llm_toolbox(seen: Collector) -> None:
    """A Toolbox's methods are tools by class and by object, by their names for the model; what llm offers is
    unchanged."""
    plain = [(tool.name, tool.description, tool.input_schema) for tool in Memory().tools()]
    for target in (Memory, Memory(), sys.modules[__name__].Memory):
        with instrument(target):
            box = target if isinstance(target, Memory) else Memory("x")
            tools = {tool.name: tool for tool in box.tools()}
            assert [(tool.name, tool.description, tool.input_schema) for tool in tools.values()] == plain
            tools["Memory_keep"].implementation(key="a", value="1")
            assert tools["Memory_recall"].implementation(key="a") == "1"
        found = calls(seen)
        assert [(item["tool_name"], item["input"]) for item in found] == [
            ("Memory_keep", {"key": "a", "value": "1"}), ("Memory_recall", {"key": "a"}),
        ]  # fmt: skip
        assert len({item["instance_id"] for item in found}) == 1
