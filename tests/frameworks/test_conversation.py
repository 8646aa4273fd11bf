"""A conversation that another process continues: its tools are built again from their records."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.frameworks.contract import need
from tests.helpers import run_json
from toolog.testing import only

NEEDED = {"llm": ["llm"], "langchain": ["langchain_core"], "plain": []}
TOOLS = {
    "llm": """
        import llm

        class Memory(llm.Toolbox):
            def __init__(self, prefix="m", api_key=None, limits=(1, 2)):
                self.prefix, self.api_key, self.limits = prefix, api_key, limits

            def keep(self, text: str) -> str:
                "Keep a text."
                return f"{self.prefix}:{text}"
    """,
    "langchain": """
        from langchain_core.tools import BaseTool

        class Memory(BaseTool):
            name: str = "memory"
            description: str = "Keep a text."
            prefix: str = "m"
            api_key: str | None = None
            limits: list[int] = [1, 2]

            def _run(self, text: str) -> str:
                return f"{self.prefix}:{text}"

            def keep(self, text: str) -> str:
                return self.invoke({"text": text})
    """,
    "plain": """
        class Memory:
            def __init__(self, prefix="m", *, api_key=None, limits=(1, 2)):
                self.prefix, self.api_key, self.limits = prefix, api_key, limits

            def keep(self, text):
                return f"{self.prefix}:{text}"
    """,
}

FIRST = """
    import json, toolog
    from toolog.testing import capture
    from memories import Memory

    toolog.instrument(Memory)
    with capture(level="INFO") as records, toolog.session("talk-7"):
        Memory(prefix="p", api_key="invented-" + "key-0123456789abcdef").keep("a")
    print(json.dumps(records))
"""
SECOND = """
    import json, sys, toolog
    from toolog.testing import capture
    from memories import Memory

    toolog.instrument(Memory)
    (before,) = [record for record in json.load(sys.stdin) if record["event"] == "tool_instance"]

    def make(**config):
        return Memory(**{**config, "api_key": "invented-" + "key-0123456789abcdef"})

    with capture(level="INFO") as records, toolog.session("talk-7"):
        again = toolog.recreate(before, {"Memory": make})
        assert again.keep("b") == "p:b"
    print(json.dumps(records))
"""


@pytest.mark.parametrize("kind", TOOLS)
def test_a_conversation_goes_on_in_another_process(kind: str, tmp_path: Path) -> None:
    """A tool is built again from its record in a new process: the same configuration, its secret filled in
    and never recorded, and the new instance names the old one."""
    need(*NEEDED[kind])
    (tmp_path / "memories.py").write_text(textwrap.dedent(TOOLS[kind]))
    (tmp_path / "first.py").write_text(textwrap.dedent(FIRST))
    (tmp_path / "second.py").write_text(textwrap.dedent(SECOND))
    first = run_json(tmp_path / "first.py")
    second = run_json(tmp_path / "second.py", first)
    assert "invented-" not in json.dumps([first, second])
    old, new = (only(records, event="tool_instance") for records in (first, second))
    assert new["recreated_from"] == old["instance_id"] != new["instance_id"]
    assert new["config_hash"] == old["config_hash"]
    assert (new["config"]["prefix"], new["config"]["limits"]) == ("p", [1, 2])
    calls = [record for record in second if record["event"] == "tool_call_success"]
    assert calls
    assert {(call["instance_id"], call["session_id"]) for call in calls} == {(new["instance_id"], "talk-7")}
