"""`toolog retention` as a user runs it, and the example of the documentation from the first record on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Shell
from tests.cli.shippers import Ship
from tests.documents import DAY, aged_log
from tests.services.opensearch import OpenSearch
from tests.services.seaweedfs import SeaweedFS
from toolog import counters, store
from toolog.cli.group import execute
from toolog.expiry.cluster import Cluster
from toolog.shipper import Shipper
from toolog.shipper.config import read_options
from toolog.sinks.search.options import SearchOptions
from toolog.spool import Spool

SECRET = "TESTS_S3_SECRET"


def local(folder: Path, keep: str = "7 days") -> None:
    """Write a pyproject.toml with a local store."""
    (folder / "pyproject.toml").write_text(
        f"""
        [tool.toolog]
        sinks = {{ store = {{ type = "sqlite", path = "calls.db" }}, console = {{}} }}
        [tool.toolog.retention.INFO]
        sinks = ["store", "console"]
        keep = "{keep}"
        """
    )


@pytest.fixture
def old(bare_shell: Shell) -> Shell:
    """Return a shell where two of three records are past their age, one of those on hold."""
    local(bare_shell.folder)
    with store.open(bare_shell.folder / "calls.db") as held:
        held.write([aged_log(1, "INFO", 30 * DAY), aged_log(2, "INFO", 30 * DAY, "case 4711")])
        held.write([aged_log(3, "INFO", 60)])
    return bare_shell


def count(folder: Path) -> int:
    """Return how many records the store has."""
    with store.open(folder / "calls.db", read_only=True) as held:
        return len(held.logs())


def test_plan_shows_what_policies_mean(old: Shell) -> None:
    """A table for each sink: what is kept for how long, what would go, what a hold keeps; nothing is done."""
    done = old("retention", "plan")
    assert done.code == 0
    assert "7 days to 8 days" in done.out
    rows = [line.split() for line in done.out.splitlines()]
    assert any(row[:1] == ["delete"] and "1" in row for row in rows)
    assert "keep: on hold" in done.out
    assert "no end" in done.out  # of the console
    assert count(old.folder) == 3


def test_plan_json_is_one_object_for_each_sink(old: Shell) -> None:
    """What the table shows, as data."""
    plans = old("retention", "plan", "--json").rows
    assert [plan["sink"] for plan in plans] == ["store", "console"]
    assert plans[0]["policies"] == [
        {
            "policy": "info",
            "keep": 7 * DAY,
            "target": "calls.db",
            "earliest": 7 * DAY,
            "latest": 8 * DAY,
            "counted": plans[0]["policies"][0]["counted"],
        }
    ]
    assert {(piece["action"], piece["records"]) for piece in plans[0]["purge"]} == {
        ("delete", 1),
        ("hold", 1),
    }


def test_purge_deletes_and_leaves_what_is_on_hold(old: Shell) -> None:
    """A dry run only counts; a purge deletes; the next one finds nothing, and verify is content."""
    assert old("retention", "verify").code == 1
    dry = old("retention", "apply", "--purge", "--dry-run")
    assert (dry.code, count(old.folder)) == (0, 3)
    done = old("retention", "apply", "--purge")
    assert done.code == 0
    assert "store: deleted 1 records of" in done.out
    assert count(old.folder) == 2
    again = old("retention", "apply", "--purge", "--json")
    assert [(row["done"], row["deleted"]) for row in again.rows] == [([], 0), ([], 0)]
    assert old("retention", "verify").code == 0


def test_apply_without_purge_deletes_nothing(old: Shell) -> None:
    """Only --purge deletes."""
    assert old("retention", "apply").code == 0
    assert count(old.folder) == 3


def test_a_config_file_stands_in_place_of_pyproject(old: Shell) -> None:
    """TOML or JSON, with the keys at its top or as in a pyproject.toml."""
    options = {
        "sinks": {"other": {"type": "sqlite", "path": "other.db"}},
        "retention": {"INFO": {"keep": 60}},
    }
    (old.folder / "own.json").write_text(json.dumps(options))
    lines = [
        "[tool.toolog.sinks.other]",
        'type = "sqlite"',
        'path = "other.db"',
        "[tool.toolog.retention.INFO]",
    ]
    (old.folder / "own.toml").write_text("\n".join([*lines, "keep = 60"]))
    for name in ("own.json", "own.toml"):
        [plan] = old("retention", "plan", "--config", name, "--json").rows
        assert (plan["sink"], plan["policies"][0]["keep"]) == ("other", 60)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("retention",), "plan|apply|verify"),
        (("retention", "aply"), "'aply'"),
        (("retention", "plan", "--purge"), "--purge belongs to apply"),
        (("retention", "apply", "--trust-clock"), "--trust-clock belongs to --purge"),
        (("retention", "verify", "--dry-run"), "--dry-run belongs to apply"),
        (("retention", "plan", "--sink", "stor"), "did you mean 'store'"),
        (("retention", "plan", "--config", "none.toml"), "none.toml: No such file"),
        (("retention", "plan", "--config", "calls.db"), "not readable as TOML"),
    ],
)
def test_a_users_mistake_is_one_clear_line(old: Shell, words: tuple[str, ...], hint: str) -> None:
    """What was called wrongly is told with the right way, and exit code 2."""
    done = old(*words)
    assert done.code == 2
    assert hint in done.err
    assert "Traceback" not in done.err


def test_a_server_that_does_not_answer_is_exit_code_three(old: Shell) -> None:
    """It is named with what to look at; the other sinks are served all the same."""
    text = (old.folder / "pyproject.toml").read_text()
    gone = 'sinks = { search = { type = "opensearch", hosts = ["http://127.0.0.1:9"] }, store ='
    (old.folder / "pyproject.toml").write_text(
        text.replace("sinks = { store =", gone).replace('["store", "console"]', '["search", "store"]')
    )
    for words in (("plan",), ("verify",), ("apply", "--dry-run"), ("apply", "--purge")):
        done = old("retention", *words)
        assert done.code == 3, done
        assert "127.0.0.1:9" in done.out + done.err
        assert "Traceback" not in done.err
    assert count(old.folder) == 2
    assert old("retention", "verify", "--sink", "store").code == 0


def test_a_purge_goes_on_when_nobody_reads_what_it_tells(old: Shell) -> None:
    """A pipe that is closed takes nothing from the work: what comes after the first line is done, too."""
    with store.open(old.folder / "calls.db") as held:
        held.write([aged_log(4, "INFO", 30 * DAY)])
    text = (old.folder / "pyproject.toml").read_text()
    more = """
        [tool.toolog.sinks]
        store = { type = "sqlite", path = "calls.db" }
        other = { type = "sqlite", path = "other.db" }
        [tool.toolog.retention.INFO]
        sinks = ["store", "other"]
        keep = "7 days"
    """
    assert "store" in text
    (old.folder / "pyproject.toml").write_text(more)
    for flag in ("", " --json"):
        with store.open(old.folder / "other.db") as other:
            other.write(
                [aged_log(number, "INFO", 30 * DAY) for number in range(5)] + [aged_log(9, "INFO", 60)]
            )
        line = f"(toolog retention apply --purge{flag} 2>err; echo $? >code) | (exec <&-; sleep 3)"
        assert old.pipe(line).code == 0
        assert (old.folder / "code").read_text().strip() == "0"
        assert (old.folder / "err").read_text() == ""
        with store.open(old.folder / "other.db", read_only=True) as other:
            assert len(other.logs()) == 1


def test_apply_lists_only_what_it_will_do(old: Shell) -> None:
    """Without --purge nothing is deleted, so a dry run lists nothing to delete."""
    dry = old("retention", "apply", "--dry-run")
    assert "delete" not in [line.split()[0] for line in dry.out.splitlines() if line.split()]
    assert "nothing to do" in dry.out
    assert all(row["purge"] == [] for row in old("retention", "apply", "--dry-run", "--json").rows)
    assert "delete" in old("retention", "apply", "--dry-run", "--purge").out


def test_verify_prints_the_notes(old: Shell) -> None:
    """A store that is not there is no drift, but it is said: the path may be another than was meant."""
    (old.folder / "elsewhere").mkdir()
    (old.folder / "pyproject.toml").rename(old.folder / "elsewhere" / "pyproject.toml")
    (old.folder / "calls.db").rename(old.folder / "moved.db")
    done = old("retention", "verify", "--config", "elsewhere/pyproject.toml")
    assert done.code == 0
    assert "note: there is no store at calls.db yet" in done.out


def test_trouble_with_one_sink_leaves_the_others_served(old: Shell) -> None:
    """A file sink whose path is a directory is told with exit code 3; the store after it is purged."""
    (old.folder / "out").mkdir()
    text = (old.folder / "pyproject.toml").read_text()
    text = text.replace("sinks = { store =", 'sinks = { out = { type = "file", path = "out" }, store =')
    (old.folder / "pyproject.toml").write_text(text.replace('["store",', '["out", "store",'))
    assert old("retention", "plan").code == 3
    done = old("retention", "apply", "--purge")
    assert done.code == 3
    assert "out is a directory" in done.err
    assert count(old.folder) == 2


# -- the example of docs/how-to/retention.md


class Example:
    """INFO to the search cluster for a week, ERROR there and to the archive for a month."""

    def __init__(
        self,
        shell: Shell,
        output: pytest.CaptureFixture[str],
        search: OpenSearch,
        archive: SeaweedFS,
        namespace: str,
        bucket: str,
    ) -> None:
        self.shell = shell
        self.output = output
        self.bucket = bucket
        self.s3 = archive.client()
        self.config: dict[str, Any] = {
            "spool": {"path": "spool"},
            "sinks": {
                "search": {"type": "opensearch", "hosts": [search.url], "namespace": namespace},
                "archive": {
                    "type": "s3",
                    "bucket": bucket,
                    "prefix": "calls",
                    "endpoint_url": archive.endpoint_url,
                    "region": archive.region,
                    "access_key_id": archive.access_key,
                    "secret_access_key": {"env": SECRET},
                    "batch": {"max_age": 0.1},
                },
            },
            "retention": {
                "INFO": {"sinks": ["search"], "keep": "7 days"},
                "ERROR": {"sinks": ["search", "archive"], "keep": "30 days"},
            },
        }
        self.secret = archive.secret_key
        options = SearchOptions.from_table(self.config["sinks"]["search"], "the test")
        self.namespace = options.namespace
        self.cluster = Cluster(options)

    def write(self, *records: dict[str, Any]) -> None:
        """Put records into the spool and ship them, without the chores of `toolog ship`."""
        spool = Spool(self.shell.folder / "spool")
        writer = spool.writer()
        for record in records:
            level = {"INFO": 20, "WARNING": 30, "ERROR": 40}[record["level"]]
            writer.append(level, 0, json.dumps(record).encode())
        writer.close()
        file = self.configure()
        counters.reset()  # what others dropped in this process is no fault of this shipper
        shipper = Shipper(
            lambda: read_options(spool.directory, file), lambda _: None, once=True, patience=60, chores=[]
        )
        assert shipper.run()  # all of it was delivered

    def configure(self) -> Path:
        """Write the configuration and return its file."""
        file = self.shell.folder / "toolog.json"
        file.write_text(json.dumps(self.config))
        return file

    def __call__(self, *words: str) -> Done:
        """Run a command in this process: starting one takes longer than what is asked of it."""
        code = execute([*words, "--config", str(self.configure())])
        out, err = self.output.readouterr()
        return Done(code, out, err)

    def stored(self) -> set[str]:
        """Return the messages that the cluster has."""
        self.cluster.call("POST", f"/toolog-*-{self.namespace}/_refresh")
        answer = self.cluster.call("POST", f"/toolog-*-{self.namespace}/_search", {"size": 100})
        return {hit["_source"]["message"] for hit in answer["hits"]["hits"]}


@pytest.fixture
def example(
    bare_shell: Shell,
    capsys: pytest.CaptureFixture[str],
    opensearch: OpenSearch,
    seaweedfs: SeaweedFS,
    namespace: str,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Example]:
    """Return the example in an empty folder, and tidy up the cluster."""
    made = Example(bare_shell, capsys, opensearch, seaweedfs, namespace, bucket)
    monkeypatch.setenv(SECRET, made.secret)
    yield made
    made.cluster.delete(f"/_data_stream/toolog-*-{namespace}")
    made.cluster.delete(f"/_index_template/toolog-{namespace}")
    made.cluster.close()


def test_the_example_from_the_first_record_to_the_last(example: Example) -> None:
    """Shipped, planned, applied, verified: what is past its age goes, what is on hold stays, the bucket has
    its rule, and a second time nothing is changed.
    """
    assert "search" in example("retention", "plan").out  # also where nothing was shipped yet
    example.write(
        aged_log(1, "INFO", 8 * DAY),
        aged_log(2, "WARNING", 9 * DAY),
        aged_log(3, "ERROR", 9 * DAY),
        aged_log(4, "ERROR", 29 * DAY, hold="case 4711"),
    )
    assert example.stored() == {"1", "2", "3", "4"}
    verify = example("retention", "verify")
    assert verify.code == 1
    assert "missing: lifecycle rule toolog:calls/policy=error/" in verify.out

    done = example("retention", "apply", "--purge")
    assert done.code == 0, done
    assert example.stored() == {"3", "4"}  # INFO's index was all past its age, ERROR's is not
    rules = example.s3.get_bucket_lifecycle_configuration(Bucket=example.bucket)["Rules"]
    assert [(rule["Filter"]["Prefix"], rule["Expiration"]["Days"]) for rule in rules] == [
        ("calls/policy=error/", 30)
    ]
    assert example("retention", "verify").code == 0

    again = example("retention", "apply", "--purge", "--json")
    assert [(row["done"], row["deleted"]) for row in again.rows] == [([], 0), ([], 0)]

    example.config["retention"]["ERROR"]["keep"] = "5 days"
    plan = example("retention", "plan")
    assert "roll over" in plan.out
    assert example("retention", "apply", "--purge").code == 0
    assert example.stored() == {"3", "4"}  # the index has a record on hold
    assert "keep: on hold" in example("retention", "plan").out
    assert example("retention", "verify").code == 0


def test_ship_purges_the_cluster_as_a_chore(example: Example) -> None:
    """`toolog ship` deletes what is past its age without being asked, and tells it."""
    example.write(aged_log(1, "INFO", 8 * DAY), aged_log(2, "ERROR", 60))
    example.configure()
    ship = Ship(example.shell.folder, "--config", "toolog.json", config=None, **{SECRET: example.secret})
    told = ship.wait_for("chore")
    ship.end()
    assert example.stored() == {"2"}
    assert told["chore"] == "retention"
    assert "with 1 records" in told["done"]
