"""Plain clients, by no adapter: one request of the agent's is one record, whatever the client does inside."""

from __future__ import annotations

import asyncio
import socketserver
from collections.abc import Iterator

import aiohttp
import boto3
import httpx
import pytest
import redis
import requests
import sqlalchemy
from tooling import Namespaces, calls, names

from tests.helpers import Collector
from tests.services.seaweedfs import SeaweedFS
from tests.web import serving
from toolog.instrumentation.entry import instrument


class _Redis(socketserver.StreamRequestHandler):
    """Enough of a Redis server for a client to set and get, by its real protocol."""

    held: dict[bytes, bytes] = {}

    def handle(self) -> None:
        while True:
            head = self.rfile.readline()
            if not head:
                return
            words = []
            for _ in range(int(head[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size))
                self.rfile.readline()
            self.wfile.write(self.answer(words[0].upper(), words[1:]))

    def answer(self, command: bytes, words: list[bytes]) -> bytes:
        if command == b"SET":
            self.held[words[0]] = words[1]
            return b"+OK\r\n"
        if command == b"GET":
            value = self.held.get(words[0])
            return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
        if command in (b"CLIENT", b"SELECT"):
            return b"+OK\r\n"
        return b"-ERR unknown command '%s'\r\n" % command


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, int]]:
    """The address of a small web server, and the port of a small Redis server."""
    socketserver.ThreadingTCPServer.daemon_threads = True
    with serving() as port, serving(_Redis, socketserver.ThreadingTCPServer) as redis_port:
        yield f"http://127.0.0.1:{port}", redis_port


def test_aiohttp(seen: Collector, servers: tuple[str, int]) -> None:
    """One record a request, when it has its response; what the event loop calls is no call of the agent."""
    protocol = aiohttp.client_proto.ResponseHandler
    before = Namespaces(aiohttp, aiohttp.ClientSession, aiohttp.ClientResponse, protocol)
    made = instrument(aiohttp)

    async def fetch() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{servers[0]}/a", params={"q": "x"}) as response:
                assert await response.json() == {"answer": 42}
            assert (await session.get(f"{servers[0]}/b")).status == 200
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.post("http://127.0.0.1:9/", json={"a": 1})
        with pytest.raises(aiohttp.ClientConnectorError):
            async with aiohttp.request("GET", "http://127.0.0.1:9/"):
                raise AssertionError("nobody listens there")

    asyncio.run(fetch())
    found = calls(seen)
    assert [(one["tool_name"], one["status"]) for one in found] == [
        ("ClientSession.request", "success"), ("ClientResponse.json", "success"),
        ("ClientSession.request", "success"), ("ClientSession.request", "execution_error"),
        ("ClientSession.request", "execution_error"),
    ]  # fmt: skip
    assert (found[0]["input"]["method"], found[0]["input"]["str_or_url"]) == ("GET", f"{servers[0]}/a")
    assert found[0]["input"]["params"] == {"q": "x"}
    assert found[1]["output"] == {"answer": 42}
    assert found[3]["error"]["type"].endswith("ClientConnectorError")
    made.undo()
    assert before.differences() == []


def test_streams_of_httpx(seen: Collector, servers: tuple[str, int]) -> None:
    """A streamed request is one record with its response, or with its failure; nothing is read for it."""
    url = f"{servers[0]}/a"
    before = Namespaces(httpx, httpx.Client, httpx.AsyncClient, httpx.Response)
    made = instrument(httpx)

    async def fetch() -> None:
        async with httpx.AsyncClient() as client, client.stream("GET", url) as response:
            assert not response.is_stream_consumed
            assert b"".join([part async for part in response.aiter_bytes()]) == b'{"answer": 42}'

    with httpx.Client() as client, client.stream("GET", url) as response:
        assert not response.is_stream_consumed
        assert list(response.iter_lines()) == ['{"answer": 42}']
    with httpx.stream("GET", url) as response:  # the body is left unread
        assert not response.is_stream_consumed
    with pytest.raises(httpx.ConnectError), httpx.stream("GET", "http://127.0.0.1:9/"):
        raise AssertionError("nobody listens there")
    asyncio.run(fetch())
    found = calls(seen)
    assert [(one["tool_name"], one["status"]) for one in found] == [
        ("Response.iter_lines", "success"), ("Client.stream", "success"),
        ("stream", "success"), ("stream", "execution_error"),
        ("Response.aiter_bytes", "success"), ("AsyncClient.stream", "success"),
    ]  # fmt: skip
    assert found[0]["output"] == ['{"answer": 42}']
    assert [found[place]["output"]["state"]["status_code"] for place in (1, 2, 5)] == [200, 200, 200]
    assert found[3]["error"]["type"] == "httpx.ConnectError"
    made.undo()
    assert before.differences() == []


def test_streams_of_requests(seen: Collector, servers: tuple[str, int]) -> None:
    """A request with stream=True is a record when its response has come; what is read of it is another."""
    made = instrument(requests)
    with requests.get(f"{servers[0]}/a", stream=True) as response:
        assert response.raw.tell() == 0
        assert list(response.iter_lines()) == [b'{"answer": 42}']
    with requests.get(f"{servers[0]}/b", stream=True) as response:
        assert next(response.iter_content(4)) == b'{"an'
    found = calls(seen)
    assert [(one["tool_name"], one["status"]) for one in found] == [
        ("get", "success"), ("Response.iter_lines", "success"),
        ("get", "success"), ("Response.iter_content", "closed"),
    ]  # fmt: skip
    assert found[1]["output"] == ['{"answer": 42}']
    made.undo()


def test_sqlalchemy(seen: Collector) -> None:
    """One record for each thing done with a connection; what compiling a statement calls is none of them."""
    engine = sqlalchemy.create_engine("sqlite://")
    before = Namespaces(sqlalchemy, sqlalchemy.Connection, sqlalchemy.Engine)
    insert, select = sqlalchemy.text("insert into t values (:a)"), sqlalchemy.text("select a from t")
    made = instrument(sqlalchemy, tools=["Engine.*", "Connection.*", "Result.*"])
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("create table t (a int)"))
        connection.execute(insert, {"a": 1})
        assert connection.execute(select).scalar() == 1
        with pytest.raises(sqlalchemy.exc.OperationalError):
            connection.execute(sqlalchemy.text("select a from absent"))
        connection.commit()
    found = calls(seen)
    assert [(one["tool_name"], one["status"]) for one in found] == [
        ("Engine.connect", "success"),
        ("Connection.execute", "success"),
        ("Connection.execute", "success"),
        ("Connection.execute", "success"), ("Result.scalar", "success"),
        ("Connection.execute", "execution_error"),
        ("Connection.commit", "success"),
    ]  # fmt: skip
    assert found[2]["input"]["parameters"] == {"a": 1}
    assert found[5]["error"]["type"].endswith("OperationalError")
    made.undo()
    assert before.differences() == []
    engine.dispose()


def test_the_whole_of_sqlalchemy_with_its_orm(seen: Collector) -> None:
    """What the ORM and the dialects call, imported later or not, is the package's own doing; of the
    ORM, named itself, each call of a session is a record."""
    from sqlalchemy.orm import DeclarativeBase, Session

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        name = sqlalchemy.Column(sqlalchemy.String)

    def use() -> None:
        engine = sqlalchemy.create_engine("sqlite://")
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            session.add(Person(id=1, name="Ann"))
            session.commit()
            found = session.get(Person, 1)
            assert found is not None
            assert found.name == "Ann"
            assert len(session.scalars(sqlalchemy.select(Person)).all()) == 1
        engine.dispose()

    use()  # loads what is loaded late
    before = Namespaces(sqlalchemy, sqlalchemy.Connection, sqlalchemy.Select, Session, Base, Person)
    outer = ["create_engine", "MetaData.create_all"]
    with instrument(sqlalchemy):
        use()
    assert names(seen) == [*outer, "select", "ScalarResult.all", "Engine.dispose"]
    with instrument(sqlalchemy.orm, tools=["Session.*"]):
        use()
    assert names(seen) == ["Session.add", "Session.commit", "Session.get", "Session.scalars"]
    assert before.differences() == []


def test_redis(seen: Collector, servers: tuple[str, int]) -> None:
    """One record a command, with its own parameters; connections and parsers are not seen."""
    client = redis.Redis(port=servers[1], protocol=2)
    made = instrument(redis, tools=["*.set", "*.get", "*.incr"])
    assert client.set("color", "blue", ex=60) is True
    assert client.get("color") == b"blue"
    with pytest.raises(redis.ResponseError):
        client.incr("color")
    made.undo()
    client.close()
    found = calls(seen)
    assert [one["status"] for one in found] == ["success", "success", "execution_error"]
    assert [one["tool_name"].rpartition(".")[2] for one in found] == ["set", "get", "incr"]
    assert (found[0]["input"]["name"], found[0]["input"]["ex"]) == ("color", 60)
    assert found[1]["output"] == "blue"


def test_redis_in_an_event_loop(seen: Collector, servers: tuple[str, int]) -> None:
    """One record a command, which ends when its answer is there, also of commands at the same time."""

    async def use() -> None:
        client = redis.asyncio.Redis(port=servers[1], protocol=2)
        assert await client.set("color", "blue") is True
        assert await asyncio.gather(client.get("color"), client.get("color")) == [b"blue", b"blue"]
        with pytest.raises(redis.ResponseError):
            await client.incr("color")
        await client.aclose()

    with instrument(redis.asyncio, tools=["*.set", "*.get", "*.incr"]):
        asyncio.run(use())
    found = calls(seen)
    assert [(one["tool_name"].rpartition(".")[2], one["status"]) for one in found] == [
        ("set", "success"), ("get", "success"), ("get", "success"), ("incr", "execution_error"),
    ]  # fmt: skip
    assert [one["output"] for one in found[:3]] == [True, "blue", "blue"]


def test_boto3_against_a_real_server(seen: Collector, seaweedfs: SeaweedFS, bucket: str) -> None:
    """One record an operation, also of one that the server refuses."""
    client = seaweedfs.client()
    made = instrument(boto3)
    client.put_object(Bucket=bucket, Key="a.txt", Body=b"hello")
    assert client.get_object(Bucket=bucket, Key="a.txt")["ContentLength"] == 5
    with pytest.raises(client.exceptions.NoSuchKey):
        client.get_object(Bucket=bucket, Key="absent")
    made.undo()
    client.delete_object(Bucket=bucket, Key="a.txt")
    assert names(seen) == ["S3.put_object", "S3.get_object", "S3.get_object"]
