"""One real OpenSearch node: its jars from Maven, fetched once, and a node that starts in a few seconds."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from tests.services.server import Missing, Server, fetch
from tests.services.versions import JAVA, LOG4J, OPENSEARCH

SOURCES = Path(__file__).with_name("java")
JVM_FOLDERS = ("/usr/lib/jvm/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")


class OpenSearch(Server):
    """A node without security; ``http_max`` is its largest request.

    It starts with half the processor time when Java compiles only once; ``optimize`` is for measurements,
    where the node works for minutes.
    """

    name: ClassVar[str] = "opensearch"
    port_count: ClassVar[int] = 2

    def __init__(
        self, folder: Path | None = None, *, http_max: str = "2mb", optimize: bool = False, **rest: Any
    ) -> None:
        super().__init__(folder, **rest)
        self.http_max = http_max
        self.optimize = optimize

    def options(self) -> dict[str, Any]:
        return {"http_max": self.http_max, "optimize": self.optimize}

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str]:
        java, home = find_java(), fetch_jars()
        http, transport = self.ports
        return [
            str(java / "bin" / "java"),
            "-Xms256m",
            "-Xmx768m",
            "-XX:+UseSerialGC",
            *([] if self.optimize else ["-XX:TieredStopAtLevel=1"]),
            # What the Java runtime learns of the classes at the first end is read by each later start.
            "-XX:+AutoCreateSharedArchive",
            f"-XX:SharedArchiveFile={home / 'classes.jsa'}",
            "-Xlog:cds=off",
            "-Xlog:cds+dynamic=off",
            "-cp",
            _class_path(home),
            "SearchNode",
            f"path.home={self.folder}",
            f"http.port={http}",
            f"transport.port={transport}",
            f"http.max_content_length={self.http_max}",
            # By real memory the serial collector's garbage counts too, and a node that works hard says 429.
            "indices.breaker.total.use_real_memory=false",
        ]

    def is_ready(self) -> bool:
        health = json.loads(fetch(f"{self.url}/_cluster/health"))
        return health["status"] in ("green", "yellow")


@cache
def find_java() -> Path:
    """Return the folder of a Java development kit that is new enough; raises Missing."""
    named = os.environ.get("JAVA_HOME")
    on_path = shutil.which("javac")
    folders = [Path(named)] if named else []
    folders += sorted((found for glob in JVM_FOLDERS for found in Path("/").glob(glob[1:])), reverse=True)
    folders += [Path(on_path).resolve().parents[1]] if on_path else []
    for folder in folders:
        if (folder / "bin" / "javac").exists() and _java_version(folder) >= JAVA:
            return folder
    raise Missing(f"a Java development kit, version {JAVA} or newer; point JAVA_HOME at one")


def _java_version(folder: Path) -> int:
    release = folder / "release"
    found = re.search(r'JAVA_VERSION="(\d+)', release.read_text("utf-8")) if release.exists() else None
    return int(found[1]) if found else 0


def cache_folder() -> Path:
    """Return where fetched files stay from run to run: TOOLOG_TEST_CACHE, or a folder of the user's cache."""
    return Path(os.environ.get("TOOLOG_TEST_CACHE") or "~/.cache/toolog-tests").expanduser()


@cache
def fetch_jars() -> Path:
    """Return the folder with the jars and our compiled class; both are made once, by whoever comes first.

    Raises Missing without Maven, or when Maven could not fetch.
    """
    sources = sorted(SOURCES.iterdir())
    sum_ = hashlib.sha256(b"".join(one.read_bytes() for one in sources) + f"{LOG4J} {find_java()}".encode())
    home = cache_folder() / f"opensearch-{OPENSEARCH}-{sum_.hexdigest()[:12]}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "done").exists():
            _fill(home)
            (home / "done").touch()
    return home


def _fill(home: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Maven (`mvn`), which fetches OpenSearch once")
    jars, classes, tools = home / "jars", home / "classes", find_java() / "bin"
    what = f"OpenSearch {OPENSEARCH}, which Maven could not fetch"
    versions = (f"-Dopensearch.version={OPENSEARCH}", f"-Dlog4j.version={LOG4J}")
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={jars}")
    _run(what, maven, "-q", "-B", "-f", SOURCES / "pom.xml", *goal, *versions)
    what = "SearchNode.java, which does not compile"
    _run(what, tools / "javac", "-nowarn", "-cp", f"{jars}/*", "-d", classes, SOURCES / "SearchNode.java")
    # The archive of classes is used for jars alone, not for a folder on the class path.
    _run("a jar of SearchNode", tools / "jar", "cf", jars / "search-node.jar", "-C", classes, ".")


def _run(what: str, *words: str | Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(find_java())}
    done = subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{what}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _class_path(home: Path) -> str:
    return ":".join(map(str, sorted((home / "jars").glob("*.jar"))))
