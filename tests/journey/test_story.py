"""From one tool call to its whole story: over HTTP, and a queue's worker."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request

import toolog
from tests.helpers import run_json
from toolog.testing import capture, only

REPOSITORY = Path(__file__).parents[2]


@toolog.tool(name="lookup")
def lookup(item: str) -> dict[str, str]:
    """Look something up."""
    return {"item": item}


@toolog.tool(name="ask_server")
async def ask_server(app: Any, item: str) -> Any:
    """Ask a server, and send it where we are."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        return (await client.get(f"/lookup/{item}", headers=toolog.carrier())).json()


def test_a_call_over_http_is_a_child_of_the_one_that_asked() -> None:
    """`carrier()` as request headers, `attach(headers)` in the server: one trace, one session, its tags."""
    app = FastAPI()

    @app.get("/lookup/{item}")
    def serve(item: str, request: Request) -> Any:
        with toolog.attach(request.headers):
            return lookup(item)

    async def agent() -> Any:
        with toolog.session("order-1001", customer="c-7"):
            return await ask_server(app, "lamp")

    with capture(level="INFO") as records:
        assert asyncio.run(agent()) == {"item": "lamp"}
    outer, inner = only(records, tool_name="ask_server"), only(records, tool_name="lookup")
    assert (inner["trace_id"], inner["parent_id"]) == (outer["trace_id"], outer["span_id"])
    assert (inner["session_id"], inner["tags"], inner["depth"]) == ("order-1001", {"customer": "c-7"}, 1)


def test_a_foreign_traceparent_is_continued_and_handed_on() -> None:
    """A W3C header from elsewhere is the parent of the call, and what the call sends on names the call."""
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    sent: list[dict[str, str]] = []

    @toolog.tool(name="hand_on")
    def hand_on() -> None:
        sent.append(toolog.carrier())

    with capture(level="INFO") as records, toolog.attach({"Traceparent": f"00-{trace}-{span}-01"}):
        hand_on()
    record = only(records, tool_name="hand_on")
    assert (record["trace_id"], record["parent_id"]) == (trace, span)
    assert sent[0]["traceparent"] == f"00-{trace}-{record['span_id']}-01"


WORKER = """
    import json, sys
    import toolog
    from toolog.testing import capture

    @toolog.tool(name="send_mail")
    def send_mail(to):
        return {"sent": to}

    with capture(level="INFO") as records:
        for job in json.load(sys.stdin):  # what a queue would deliver
            with toolog.attach(job["headers"]):
                send_mail(*job["args"])
    print(json.dumps(records))
"""


def test_a_worker_of_a_queue_continues_the_story(tmp_path: Path) -> None:
    """A job that carries `carrier()` in its headers, as Celery's and RQ's can, is recorded as a child of the
    call that queued it; a job without headers begins a trace of its own."""
    queue: list[dict[str, Any]] = []

    @toolog.tool(name="queue_mail")
    def queue_mail(to: str) -> None:
        queue.append({"args": [to], "headers": toolog.carrier()})

    with capture(level="INFO") as records:
        for order in ("order-1", "order-2"):
            with toolog.session(order), toolog.bind(stage="mail"):
                queue_mail(f"{order}@shop.example")
    queue.append({"args": ["nobody@shop.example"], "headers": {}})
    (tmp_path / "worker.py").write_text(textwrap.dedent(WORKER))
    first, second, alone = run_json(tmp_path / "worker.py", queue)
    for done, asked in zip((first, second), records, strict=True):
        assert (done["trace_id"], done["parent_id"]) == (asked["trace_id"], asked["span_id"])
        assert (done["session_id"], done["tags"]) == (asked["session_id"], {"stage": "mail"})
        assert done["process"]["pid"] != asked["process"]["pid"]
    assert alone["parent_id"] is None
    assert len({first["trace_id"], second["trace_id"], alone["trace_id"]}) == 3
