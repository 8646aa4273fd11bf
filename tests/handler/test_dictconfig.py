"""The handler in ``logging.config.dictConfig``: all of it configurable, and replaced under load without
loss.
"""

from __future__ import annotations

from pathlib import Path

from tests.pipeline.programs import arrived, assert_complete, complain, run, waiting

CONFIG = """
CONFIG = {
    "version": 1,
    "filters": {"mask": {"()": "toolog.Sanitizer", "keys_add": ["favourite_colour"]}},
    "handlers": {"ship": {
        "class": "toolog.ToologHandler", "level": "INFO", "serializer": "msgpack", "durability": "process",
        "filters": ["mask"],
        "queue": {"max_records": 10000, "when_full": "drop_newest"},
        "spool": {"path": "ext://SPOOL", "max_size": "1 GiB"},
        "sinks": {"out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": "10 ms"}}},
        "retention": {"INFO": {"sinks": ["out"], "keep": "7 days"}},
        "capture": {"max_depth": 3},
    }},
    "loggers": {"app": {"handlers": ["ship"], "level": "DEBUG", "propagate": False}},
}
CONFIG["handlers"]["ship"]["spool"]["path"] = "spool"
"""


def test_dict_config_says_everything(tmp_path: Path) -> None:
    """Level, filters, nested options and capture's settings take effect from one dictionary."""
    run(
        CONFIG
        + """
        logging.config.dictConfig(CONFIG)
        from toolog.settings import capture
        assert capture.max_depth == 3
        log = logging.getLogger("app")
        log.debug("1")
        log.info("2")
        log.info("3", extra={"favourite_colour": "green as the sea"})
        made = log.handlers[0]
        assert made.name == "ship" and made.level == 20
        assert made.options.max_size == 1 << 30
        assert flush(20)
        """.replace("\n        ", "\n"),
        tmp_path,
    )
    assert_complete(tmp_path, [2, 3])
    assert "green as the sea" not in (tmp_path / "out.jsonl").read_text()


def test_values_from_elsewhere_are_resolved(tmp_path: Path) -> None:
    """``ext://`` and ``cfg://`` texts inside nested options mean what they mean to logging.config."""
    run(
        """
        import types
        sys.modules["places"] = types.SimpleNamespace(SPOOL="elsewhere")
        logging.config.dictConfig({
            "version": 1, "file": "out.jsonl",
            "handlers": {"ship": {"class": "toolog.ToologHandler", "spool": {"path": "ext://places.SPOOL"},
                                  "sinks": {"out": {"type": "file", "path": "cfg://file"}}}},
            "root": {"handlers": ["ship"], "level": "INFO"},
        })
        logging.info("1")
        """,
        tmp_path,
    )
    assert (tmp_path / "elsewhere").is_dir()
    assert_complete(tmp_path, [1])


def test_twenty_configurations_in_a_row_under_load(tmp_path: Path) -> None:
    """Configured again and again while four threads log: quickly, without a hang, and without losing a
    record.
    """
    for mode in ("memory", "process"):
        folder = tmp_path / mode
        folder.mkdir()
        run(
            CONFIG
            + """
            CONFIG["handlers"]["ship"]["durability"] = sys.argv[1]
            logging.config.dictConfig(CONFIG)
            log = logging.getLogger("app")
            stop = False
            counts = [0] * 4
            def load(thread):
                while not stop:
                    log.info("%d", thread * 1_000_000 + counts[thread])
                    counts[thread] += 1
                    time.sleep(0.0005)
            threads = [threading.Thread(target=load, args=(index,)) for index in range(4)]
            for thread in threads:
                thread.start()
            slowest = 0.0
            for _ in range(20):
                began = time.monotonic()
                logging.config.dictConfig(CONFIG)
                slowest = max(slowest, time.monotonic() - began)
            stop = True
            for thread in threads:
                thread.join()
            assert flush(30), stats()
            print(json.dumps({"slowest": slowest, "counts": counts}))
            """.replace("\n            ", "\n"),
            folder,
            mode,
        )
        run("made = handler(); assert flush(30), stats()", folder)
        found = arrived(folder)
        assert set(found.values()) == {1}
        for thread in range(4):
            numbers = sorted(number - thread * 1_000_000 for number in found if number // 1_000_000 == thread)
            # While dictConfig has taken the old handler off and not yet put the new one on, logging drops
            # lines.
            assert numbers
        assert not waiting(folder)


def test_records_in_flight_are_not_lost_when_a_handler_is_replaced(tmp_path: Path) -> None:
    """What was accepted by the first handler, queued or in the spool, arrives through the second."""
    run(
        CONFIG
        + """
        CONFIG["handlers"]["ship"]["durability"] = "memory"
        logging.config.dictConfig(CONFIG)
        old = logging.getLogger("app").handlers[0]
        for number in range(2000):
            logging.getLogger("app").info("%d", number)
        logging.config.dictConfig(CONFIG)
        line = logging.LogRecord("app", 20, "", 0, "%d", (2000,), None)
        old.handle(line)  # a thread that still has the old handler in its hands
        logging.getLogger("app").info("%d", 2001)
        assert flush(30), stats()
        assert stats()["accepted"] == 2002, stats()
        assert stats()["late"] == 1, stats()
        """.replace("\n        ", "\n"),
        tmp_path,
    )
    run("made = handler(); assert flush(30)", tmp_path)
    assert_complete(tmp_path, list(range(2002)))


def test_close_under_the_lock_of_logging_does_not_wait_for_a_client_that_asks_for_a_logger(
    tmp_path: Path,
) -> None:
    """A sink whose client calls getLogger while dictConfig holds logging's lock does not hang the
    configuration.
    """
    (tmp_path / "asking.py").write_text(
        "import logging, itertools\n"
        "count = itertools.count()\n"
        "class Sink:\n"
        "    def __init__(self, name): self.name = name\n"
        "    def connect(self): pass\n"
        "    def write(self, batch): logging.getLogger(f'client.{next(count)}').info('sent')\n"
        "    def close(self): logging.getLogger(f'client.{next(count)}')\n"
    )
    run(
        """
        sys.path.insert(0, ".")
        CONFIG = {
            "version": 1,
            "handlers": {"ship": {"class": "toolog.ToologHandler", "spool": {"path": "spool"},
                                  "durability": "memory",
                                  "sinks": {"out": {"type": "asking:Sink", "batch": {"max_age": 0}}}}},
            "root": {"handlers": ["ship"], "level": "INFO"},
        }
        began = time.monotonic()
        for _ in range(20):
            logging.config.dictConfig(CONFIG)
            logging.info("1")
        print(time.monotonic() - began)
        """,
        tmp_path,
    )


def test_second_handler_with_the_same_sinks_shares_the_directory(tmp_path: Path) -> None:
    """Two handlers of one process on one directory deliver everything, each record once."""
    run(
        """
        one, two = attach(handler(), "one"), attach(handler("memory"), "two")
        for number in range(100):
            (one, two)[number % 2].info("%d", number)
        """,
        tmp_path,
    )
    run("made = handler(); assert flush(30)", tmp_path)
    assert_complete(tmp_path, list(range(100)))


def test_second_handler_with_other_sinks_is_refused(tmp_path: Path) -> None:
    """Two handlers that would ship one directory to different sinks are a ConfigError that says what to
    do.
    """
    run(
        """
        first = handler()
        try:
            handler(sinks={"other": {"type": "file", "path": "other.jsonl"}})
        except toolog.ConfigError as error:
            assert "spool.path" in str(error), error
        else:
            raise AssertionError("no ConfigError")
        second = handler(spool={"path": "another"}, sinks={"other": {"type": "file", "path": "other.jsonl"}})
        attach(second).info("1")
        """,
        tmp_path,
    )
    assert arrived(tmp_path, "other.jsonl") == {1: 1}


def test_flush_waits_for_the_handler_that_was_replaced_and_still_ships(tmp_path: Path) -> None:
    """While the handler before has the directory, what the new one accepted has not arrived, whoever asks."""
    (tmp_path / "gated.py").write_text(
        "import os, time\n"
        "class Sink:\n"
        "    def __init__(self, name): self.name = name\n"
        "    def connect(self): pass\n"
        "    def write(self, batch):\n"
        "        open('entered', 'w').close()\n"
        "        while not os.path.exists('gate'): time.sleep(0.01)\n"
        "    def close(self): pass\n"
    )
    run(
        """
        sys.path.insert(0, ".")
        CONFIG = {
            "version": 1,
            "handlers": {"ship": {"()": ToologHandler, "spool": {"path": "spool"}, "shutdown_timeout": "60 s",
                                  "sinks": {"out": {"type": "gated:Sink", "batch": {"max_age": 0}}}}},
            "loggers": {"app": {"handlers": ["ship"], "level": "INFO", "propagate": False}},
        }
        log = logging.getLogger("app")
        logging.config.dictConfig(CONFIG)
        log.info("1")
        wait(lambda: os.path.exists("entered"))
        logging.config.dictConfig(CONFIG)
        log.info("2")
        wait(lambda: log.handlers[0].pipeline.shipping.other_ships)
        assert not log.handlers[0].flush(0.3)
        assert not flush(0.3)
        open("gate", "w").close()
        assert flush(40), stats()
        assert stats()["stored"] == {"out": 2}, stats()
        """,
        tmp_path,
    )


def test_read_only_place_does_not_break_the_configuration(tmp_path: Path) -> None:
    """Where no spool can be made, dictConfig works, one warning is printed, and records still reach the
    sinks.
    """
    (tmp_path / "spool").write_text("a file stands where the directory should be")
    complaints = complain(
        """
        logging.config.dictConfig({
            "version": 1,
            "handlers": {"ship": {"class": "toolog.ToologHandler", "spool": {"path": "spool"},
                                  "sinks": {"out": {"type": "file", "path": "out.jsonl"}}}},
            "root": {"handlers": ["ship"], "level": "INFO"},
        })
        for number in range(50):
            logging.info("%d", number)
        assert flush(20), stats()
        """,
        tmp_path,
    )
    assert complaints.count("kept in memory") == 1
    assert_complete(tmp_path, list(range(50)))
