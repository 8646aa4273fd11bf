"""A watched call does nothing that the tool itself does not: no file, no import, no sleep, no socket."""

from __future__ import annotations

from pathlib import Path

from watching import run

PROGRAM = """
import asyncio, logging, sys, threading, time
import toolog

class Tool:
    def __init__(self, size=3): self.size = size
    def run(self, n): return {"n": n, "when": self.size}
    def fail(self, n): raise KeyError(n)
    def deep(self, n): return self.deep(n - 1) if n else 0
    def say(self, n):
        print("n is", n)
        logging.getLogger("app").warning("said %s", n)
    def stream(self, n): yield from range(n)
    async def wait(self, n):
        await asyncio.sleep(0)
        return n
    async def astream(self, n):
        for i in range(n): yield i

toolog.configure("dev", sinks={"held": {"type": "memory"}}, retention={"DEBUG": {"sinks": ["held"]}})
logging.getLogger("app").addHandler(logging.NullHandler())
toolog.instrument(Tool)
main, seen, armed = threading.get_ident(), [], []

def hook(event, arguments):
    if armed and threading.get_ident() == main and (
        event in ("open", "import", "os.listdir", "os.scandir", "time.sleep", "compile", "sqlite3.connect",
                  "os.rename", "os.remove", "os.mkdir") or event.startswith(("socket.", "subprocess."))
    ):
        seen.append((event, str(arguments[:1])))

sys.addaudithook(hook)

async def work(tool):
    await tool.wait(1)
    async for _ in tool.astream(2):
        break
    await asyncio.gather(*(tool.wait(n) for n in range(5)))

def act():
    tool = Tool()
    tool.run(1)
    tool.run(object())
    list(tool.stream(3))
    tool.say(1)
    tool.deep(40)
    try:
        tool.fail(1)
    except KeyError:
        pass
    with toolog.session("s", customer="c"):
        tool.run(2)
    return tool

async def main_task():
    armed.append(True)
    await work(act())
    armed.clear()

asyncio.run(main_task(), debug=False)  # debugging, asyncio itself reads source lines
assert not seen, seen
toolog.flush()
print(toolog.stats()["accepted"])
"""


def test_a_call_touches_no_file_and_imports_nothing(tmp_path: Path) -> None:
    """From the very first call on, of each kind, success and failure, the caller's thread opens, lists and
    imports nothing; so the detectors of blocking calls in async suites see nothing."""
    text = run(f"import os; os.chdir({str(tmp_path)!r})\n" + PROGRAM)
    assert int(text.splitlines()[-1]) >= 50
