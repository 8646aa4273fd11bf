"""``configure`` and ``dict_config``: one line, and everything can still be overridden."""

from __future__ import annotations

from pathlib import Path

from tests.pipeline.programs import complain, documents, run


def test_dev_profile_records_and_shows_calls(tmp_path: Path) -> None:
    """configure("dev") prints a line for each call, keeps it in the store as JSON, and collects prints."""
    complaints = complain(
        """
        import sqlite3
        made = toolog.configure("dev")
        @toolog.tool
        def lookup(word):
            print("looking")
            return {"word": word}
        lookup("lamp")
        assert toolog.flush(20)
        options = made.options
        assert options.serializer == "json" and set(options.durability.values()) == {"memory"}
        assert os.path.isdir(".toolog/spool")
        assert logging.getLogger("toolog.calls").propagate is False
        store = sqlite3.connect(".toolog/calls.db")
        rows = store.execute("SELECT tool_name, stdout FROM tool_calls").fetchall()
        assert rows == [("lookup", "looking\\n")], rows
        """,
        tmp_path,
    )
    assert "lookup" in complaints


def test_prod_profile_is_that_of_the_documentation(tmp_path: Path) -> None:
    """MessagePack, process durability, two policies; that its sinks must be told where is said at once."""
    run(
        """
        import importlib.util
        from toolog.profiles import DEFAULTS
        prod = DEFAULTS["prod"]
        assert prod["serializer"] == "msgpack" and prod["durability"] == "process"
        assert prod["retention"] == {
            "INFO": {"sinks": ["search"], "keep": "7 days"},
            "ERROR": {"sinks": ["search", "archive"], "keep": "30 days"},
        }
        try:
            toolog.configure("prod")
        except toolog.ConfigError as error:
            assert "sink 'search' needs hosts" in str(error), error
        else:
            raise AssertionError("no ConfigError")
        assert not os.path.exists(".toolog")
        """,
        tmp_path,
    )


def test_overrides_beat_the_profile(tmp_path: Path) -> None:
    """Arguments, nested or of capture, win; the profile's policies are kept for other sinks."""
    run(
        """
        from toolog.settings import capture
        made = toolog.configure(
            "prod", level="DEBUG", durability={"INFO": "memory", "ERROR": "process"}, max_depth=4,
            queue={"max_records": 5}, sinks={"out": {"type": "file", "path": "out.jsonl"}},
            capture={"slow_ms": 7}, application_logs=True,
        )
        options = made.options
        assert options.durability == {20: "memory", 40: "process"}
        assert options.max_records == 5
        assert options.policies.route(20) == ("out",) and options.policies.route(10) == ()
        assert [policy.keep for policy in options.policies] == [7 * 86400, 30 * 86400]
        assert (capture.max_depth, capture.slow_ms, capture.threads) == (4, 7, True)
        assert logging.getLogger("toolog.calls").level == 10
        logging.getLogger("any").warning("a line of the application")
        assert toolog.flush(20)
        """,
        tmp_path,
    )
    assert [one["message"] for one in documents(tmp_path)] == ["a line of the application"]


def test_configuring_again_replaces_the_former(tmp_path: Path) -> None:
    """A second configure closes the first handler, loses nothing, and starts from the defaults again."""
    run(
        """
        from toolog.settings import capture
        out = {"out": {"type": "file", "path": "out.jsonl"}}
        first = toolog.configure("dev", sinks=out, max_depth=3)
        @toolog.tool
        def lookup(word):
            return word
        lookup("one")
        second = toolog.configure("dev", sinks=out)
        lookup("two")
        assert logging.getLogger("toolog.calls").handlers == [second]
        assert capture.max_depth == 10
        assert toolog.flush(20), toolog.stats()
        """,
        tmp_path,
    )
    assert [one["output"] for one in documents(tmp_path)] == ["one", "two"]


def test_wrong_override_changes_nothing(tmp_path: Path) -> None:
    """A ConfigError leaves the former configuration at work."""
    run(
        """
        out = {"out": {"type": "file", "path": "out.jsonl"}}
        taken = handler(spool={"path": "taken"}, sinks={"y": {"type": "file", "path": "taken.jsonl"}})
        first = toolog.configure("dev", sinks=out)
        for wrong in ({"duribility": "memory"}, {"sinks": {"x": {"type": "fiel"}}}, {"level": "LOUD"},
                      {"retention": {"INFO": {"sinks": ["no"]}}}, {"max_depth": "deep"},
                      {"serializer": "jsno"}, {"sinks": {"x": {"type": "sqlite", "path": "taken.db"}},
                                               "spool": {"path": "taken"}}):
            try:
                toolog.configure("dev", **wrong)
            except toolog.ConfigError:
                continue
            raise AssertionError(f"no ConfigError for {wrong}")
        try:
            toolog.configure("production")
        except toolog.ConfigError as error:
            assert "prod" in str(error)
        assert logging.getLogger("toolog.calls").handlers == [first]
        @toolog.tool
        def lookup(word):
            return word
        lookup("still")
        assert toolog.flush(20)
        """,
        tmp_path,
    )
    assert [one["output"] for one in documents(tmp_path)] == ["still"]


def test_wrong_value_is_told_with_where_it_stood(tmp_path: Path) -> None:
    """configure names the variable or the file of what it cannot use, and the nearest of all its keys."""
    (tmp_path / "pyproject.toml").write_text("[tool.toolog]\nspool = { max_size = 'much' }\n")
    run(
        """
        def told(**given):
            try:
                toolog.configure("dev", **given)
            except toolog.ConfigError as error:
                return str(error)
        assert f"spool.max_size in [tool.toolog] of {os.getcwd()}" in told(), told()
        os.environ["TOOLOG_QUEUE_MAX_RECORDS"] = "1e4"
        os.environ["TOOLOG_SPOOL_MAX_SIZE"] = "1 GiB"
        assert "environment variable TOOLOG_QUEUE_MAX_RECORDS" in told(), told()
        del os.environ["TOOLOG_QUEUE_MAX_RECORDS"]
        assert "did you mean 'max_depth'?" in told(max_dept=5)
        assert "did you mean 'level'?" in told(levl="DEBUG")
        assert "[tool.toolog] or in the environment" in told(instrument=["shop"])
        assert "capture in configure is a table" in told(capture=5)
        for name in (5, "", "a\\0b", "a\\ud800"):
            assert "name of a sink is a printable text" in told(sinks={name: {"type": "memory"}}), name
        """,
        tmp_path,
    )


def test_dict_config_is_plain_data_and_equivalent(tmp_path: Path) -> None:
    """What dict_config returns survives JSON, works in logging.config, and means what configure does."""
    run(
        """
        config = toolog.dict_config(
            "dev", sinks={"out": {"type": "file", "path": "out.jsonl"}}, capture_output=False, level="WARNING"
        )
        assert config["loggers"]["toolog.calls"] == {
            "handlers": ["toolog"], "level": "WARNING", "propagate": False}
        config = json.loads(json.dumps(config))
        logging.config.dictConfig(config)
        made = logging.getLogger("toolog.calls").handlers[0]
        from toolog.settings import capture
        assert made.options.serializer == "json" and capture.threads and not capture.capture_output
        @toolog.tool
        def lookup(word):
            return word / 2
        try:
            lookup("lamp")
        except TypeError:
            pass
        assert toolog.flush(20)
        """,
        tmp_path,
    )
    assert [one["status"] for one in documents(tmp_path)] == ["execution_error"]


def test_environment_and_pyproject_reach_the_profile(tmp_path: Path) -> None:
    """TOOLOG_PROFILE and [tool.toolog] choose where no argument does."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.toolog]\nprofile = 'prod'\nmax_depth = 6\n"
        "[tool.toolog.sinks.out]\ntype = 'file'\npath = 'out.jsonl'\n"
    )
    run(
        """
        from toolog.settings import capture
        made = toolog.configure()
        assert made.options.serializer == "msgpack" and capture.max_depth == 6
        os.environ["TOOLOG_SERIALIZER"] = "json"
        assert toolog.configure().options.serializer == "json"
        assert toolog.configure(serializer="msgpack").options.serializer == "msgpack"
        """,
        tmp_path,
    )


def test_nothing_configured_brings_up_the_dev_profile_with_the_first_record(tmp_path: Path) -> None:
    """instrument alone is enough: the first record makes the store, with one line on stderr that says so, and
    no module is imported during that call.
    """
    complaints = complain(
        """
        @toolog.tool
        def lookup(word):
            return word
        assert not os.path.exists(".toolog")
        before = set(sys.modules)
        lookup("lamp")
        late = {name for name in set(sys.modules) - before if name.partition(".")[0] == "toolog"}
        assert not late, late
        lookup("lamp")
        assert toolog.flush(20) and os.path.exists(".toolog/calls.db")
        """,
        tmp_path,
    )
    assert complaints.count("nothing is configured") == 1


def test_the_first_record_may_be_made_where_the_stack_is_full(tmp_path: Path) -> None:
    """A tool that recurses without end as the very first thing is recorded, and so is what comes after it."""
    complain(
        """
        @toolog.tool
        def dig(depth):
            return dig(depth + 1)
        limit = sys.getrecursionlimit()
        try:
            dig(0)
        except RecursionError:
            pass
        accepted = toolog.stats()["accepted"]
        assert accepted > limit // 4, accepted
        @toolog.tool
        def lookup(word):
            return word
        lookup("lamp")
        assert toolog.stats()["accepted"] == accepted + 1
        """,
        tmp_path,
    )


def test_nothing_comes_up_when_something_is_configured_or_it_is_off(tmp_path: Path) -> None:
    """A handler of anybody's on toolog.calls, a ToologHandler, or TOOLOG_AUTOCONFIGURE=0 keep the profile
    away.
    """
    tool = """
@toolog.tool
def lookup(word):
    return word
"""
    for before in (
        "os.environ['TOOLOG_AUTOCONFIGURE'] = '0'\n" + tool,
        "logging.getLogger('toolog.calls').addHandler(logging.NullHandler())\n"
        "logging.getLogger('toolog.calls').addHandler(logging.StreamHandler(open(os.devnull, 'w')))\n" + tool,
        tool + "attach(handler('memory', sinks={'out': {'type': 'memory'}}))\n",
    ):
        complaints = complain(before + "lookup('lamp')\nassert not os.path.exists('.toolog')\n", tmp_path)
        assert "nothing is configured" not in complaints


def test_threads_that_call_first_all_at_once_have_a_record_each(tmp_path: Path) -> None:
    """While one thread's first record brings the profile up, the records of the others wait and are kept; so
    does `flush`.
    """
    complaints = complain(
        """
        import threading
        from toolog import emit, profiles
        @toolog.tool
        def work(number):
            return number
        begun, others = threading.Event(), threading.Event()
        configure = profiles.configure
        def slow():
            begun.set()
            assert others.wait(60)
            return configure()
        profiles.configure = slow
        runner = threading.Thread(target=work, args=(0,))
        runner.start()
        assert begun.wait(60) and emit.is_opening()
        for number in range(1, 8):
            other = threading.Thread(target=work, args=(number,))
            other.start()
            other.join()
        assert not toolog.flush(0)
        others.set()
        assert toolog.flush(20)
        runner.join()
        work(8)
        assert toolog.flush(20)
        assert toolog.stats()["stored"]["store"] == 9, toolog.stats()
        from toolog import store
        with store.open(".toolog/calls.db", read_only=True) as calls:
            assert sorted(call["input"]["number"] for call in calls.calls()) == list(range(9))
        """,
        tmp_path,
    )
    assert complaints.count("nothing is configured") == 1


def test_a_child_forked_while_the_profile_comes_up_brings_up_its_own(tmp_path: Path) -> None:
    """The thread that was at it is not in the child, and what waits is the parent's."""
    complain(
        """
        import threading
        from toolog import emit, profiles
        @toolog.tool
        def work(number):
            return number
        begun, go = threading.Event(), threading.Event()
        configure = profiles.configure
        def slow():
            begun.set()
            assert go.wait(60)
            configure()
        profiles.configure = slow
        runner = threading.Thread(target=work, args=(0,))
        runner.start()
        assert begun.wait(60)
        work(1)
        child = os.fork()
        if child == 0:
            profiles.configure = configure
            work(2)
            kept = toolog.flush(20) and toolog.stats()["accepted"] == 1
            os._exit(0 if kept else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        go.set()
        runner.join()
        assert toolog.flush(20)
        assert toolog.stats()["accepted"] == 2
        """,
        tmp_path,
    )


def test_a_profile_that_cannot_be_brought_up_says_why(tmp_path: Path) -> None:
    """The call goes on, and one line on stderr tells that nothing is recorded, and what is wrong."""
    complaints = complain(
        """
        os.environ["TOOLOG_PROFILE"] = "prod"
        @toolog.tool
        def work(number):
            return number
        assert [work(1), work(2)] == [1, 2]
        """,
        tmp_path,
    )
    assert complaints.count("nothing is recorded") == 1
    assert "sink 'search' needs hosts" in complaints


# -- configured without a call


def test_a_file_that_the_environment_names_stands_in_place_of_pyproject(tmp_path: Path) -> None:
    """TOOLOG_CONFIG names a TOML or JSON file anywhere; a missing one is told with the variable's name."""
    (tmp_path / "pyproject.toml").write_text("[tool.toolog]\nmax_depth = 3\n")
    (tmp_path / "etc").mkdir()
    sinks = "sinks = { out = { type = 'file', path = 'out.jsonl' } }"
    (tmp_path / "etc" / "toolog.toml").write_text(f"[tool.toolog]\nmax_depth = 6\n{sinks}\n")
    run(
        """
        os.environ["TOOLOG_CONFIG"] = "etc/toolog.toml"
        handler = toolog.configure()
        from toolog.settings import capture
        assert capture.max_depth == 6 and list(handler.options.sinks) == ["out"]
        for name, word in (("TOOLOG_CONFIG", "TOOLOG_CONFIG: etc/none.toml"),
                           ("TOOLOG_CONFG", "did you mean TOOLOG_CONFIG?")):
            os.environ[name] = "etc/none.toml"
            try:
                toolog.configure()
                raise AssertionError(name)
            except toolog.ConfigError as error:
                assert word in str(error), error
            os.environ["TOOLOG_CONFIG"] = "etc/toolog.toml"
        """,
        tmp_path,
    )


def test_who_only_writes_the_spool_need_not_know_where_it_goes(tmp_path: Path) -> None:
    """With ship="none" the sinks of a profile need no address; a type that does not exist, or an option that
    cannot be, is told all the same.
    """
    run(
        """
        handler = toolog.configure("prod", ship="none")
        assert handler.options.policies.route(20) == ("search",)
        named = {"search": {"type": "opensearch"}, "out": {"type": "file"}}
        toolog.configure("prod", ship="none", sinks=named)
        for sinks, word in (({"search": {"type": "elasticserach"}}, "did you mean 'elasticsearch'"),
                            ({"search": {"type": "elasticsearch", "namespace": "x"}}, "needs hosts"),
                            ({"search": {"type": "elasticsearch", "host": ["x"]}}, "did you mean 'hosts'")):
            try:
                toolog.configure("prod", ship="none", sinks=sinks)
                raise AssertionError(sinks)
            except toolog.ConfigError as error:
                assert word in str(error), error
        try:
            toolog.configure("prod")
            raise AssertionError("prod")
        except toolog.ConfigError as error:
            assert "needs hosts" in str(error)
        """,
        tmp_path,
    )


def test_what_came_up_by_itself_is_told_as_it_is(tmp_path: Path) -> None:
    """The line names the profile, where it was chosen, and where records are; capture is that profile's."""
    (tmp_path / "pyproject.toml").write_text("[tool.toolog]\nprofile = 'prod'\nship = 'none'\n")
    told = complain(
        """
        from toolog.settings import capture
        @toolog.tool
        def lookup(word):
            return word
        assert not capture.capture_output
        lookup("lamp")
        assert toolog.flush(20) and not os.path.exists(".toolog/calls.db")
        """,
        tmp_path,
    )
    [line] = [line for line in told.splitlines() if line.startswith("toolog: ")]
    assert "the prod profile is on" in line
    assert "pyproject.toml" in line
    assert "records in the spool" in line
    assert "nothing is configured" not in line
    assert "a line for each call" not in line


def test_sinks_without_a_profile_take_every_record(tmp_path: Path) -> None:
    """A profile that nobody named brings no policies for sinks that somebody chose, as in `toolog ship`: no
    sink goes short because of its name, nor with the policies of a named one.
    """
    (tmp_path / "pyproject.toml").write_text(
        "[tool.toolog.sinks]\nstore = { type = 'sqlite' }\nout = { type = 'file', path = 'out.jsonl' }\n"
    )
    run(
        """
        from toolog.shipper.config import read_options
        handler = toolog.configure()
        assert handler.options.policies.route(20) == ("store", "out")
        assert handler.options.policies == read_options(None, None).policies
        os.environ["TOOLOG_PROFILE"] = "dev"
        named = toolog.configure()
        assert named.options.policies == read_options(None, None).policies
        assert named.options.policies.route(20) == ("store", "out")
        """,
        tmp_path,
    )


def test_a_sink_beside_the_profiles_own_takes_all_that_they_take(tmp_path: Path) -> None:
    """Where a profile is named, a sink that its policies do not know takes part in each of them."""
    run(
        """
        out = {"type": "file", "path": "out.jsonl"}
        made = toolog.configure("dev", sinks={"store": {"type": "sqlite"}, "out": out})
        assert made.options.policies.route(20) == ("store", "out")
        more = {"type": "file", "path": "more.jsonl"}
        made = toolog.configure("prod", spool={"path": "another"}, sinks={"archive": out, "more": more})
        route = made.options.policies.route
        assert (route(20), route(40)) == (("more",), ("archive", "more"))
        """,
        tmp_path,
    )


def test_paths_stay_where_they_were_configured(tmp_path: Path) -> None:
    """A program that changes its directory at once finds spool, files, store and the files of secrets where
    they were when it configured, or instrumented.
    """
    (tmp_path / "keeping.py").write_text(
        "from toolog.sinks.secret import resolve_secret\n"
        "class Sink:\n"
        "    paths = ('file',)\n"
        "    def __init__(self, name, file, token):\n"
        "        self.name, self.file, self.token = name, file, resolve_secret(token, 'token')\n"
        "    def connect(self): pass\n"
        "    def write(self, batch):\n"
        "        with open(self.file, 'a') as file: file.write(self.token.read() * len(batch))\n"
        "    def close(self): pass\n"
    )
    (tmp_path / "token").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    run(
        """
        sys.path.insert(0, os.getcwd())
        home = os.getcwd()
        made = toolog.configure("dev", capture_output=False, sinks={
            "store": {"type": "sqlite"}, "out": {"type": "file", "path": "out.jsonl"},
            "own": {"type": "keeping:Sink", "file": "own.txt", "token": {"file": "token"}},
        })
        os.chdir("elsewhere")
        @toolog.tool
        def lookup(word): return word
        lookup("lamp")
        assert toolog.flush(30), stats()
        assert stats()["stored"] == {"store": 1, "out": 1, "own": 1}, stats()
        assert os.listdir(".") == []
        os.chdir(home)
        assert os.path.getsize("own.txt") == 1 and os.path.exists(".toolog/calls.db")
        """,
        tmp_path,
    )
    assert len(documents(tmp_path)) == 1
    other = tmp_path / "other"
    other.mkdir()
    told = complain(
        """
        os.environ.pop("TOOLOG_AUTOCONFIGURE", None)
        @toolog.tool
        def lookup(word): return word
        os.mkdir("below")
        os.chdir("below")
        lookup("lamp")
        assert toolog.flush(30), stats()
        assert os.listdir(".") == []
        assert os.path.exists("../.toolog/calls.db") and os.path.exists("../.toolog/spool")
        """,
        other,
    )
    assert f"records in {other / '.toolog' / 'calls.db'}" in told


def test_a_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    """Relative paths in a working directory that was deleted are a ConfigError that names the option."""
    run(
        """
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        home = sys.argv[1]
        for options, said in (
            ({}, "spool.path"),
            ({"spool": {"path": home + "/spool"}}, "path of sink 'store'"),
        ):
            try:
                toolog.configure("dev", **options)
            except toolog.ConfigError as error:
                assert said in str(error) and "whole path" in str(error), error
            else:
                raise AssertionError("no ConfigError")
        toolog.configure("dev", spool={"path": home + "/spool"}, sinks={"c": {"type": "console"}})
        """,
        tmp_path,
        str(tmp_path),
    )


def test_other_sinks_have_no_claim_on_what_comes_after_them(tmp_path: Path) -> None:
    """Configured anew with another sink, the one that went waits for nothing of what is written since."""
    for _ in range(2):  # by another process, too
        told = complain(
            """
            for name in ("one", "two", "three"):
                toolog.configure("dev", durability="process", capture_output=False,
                                 sinks={name: {"type": "file", "path": name + ".jsonl"}})
                @toolog.tool
                def lookup(word): return word
                lookup("lamp")
                assert toolog.flush(30), stats()
                assert stats()["in_spool"] == {name: 0}, stats()
            """,
            tmp_path,
        )
        assert told == ""
    assert not list((tmp_path / ".toolog" / "spool").glob("*.seg"))
