"""fork, prefork, multiprocessing: the parent's records once, each child's once, and no child hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import wait_until
from tests.pipeline.programs import arrived, assert_complete, run, waiting

MODES = ("memory", "process")


def settle(folder: Path) -> None:
    """Ship what children left in the spool."""
    run("handler(); assert flush(30), stats()", folder)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_fork_storm_with_a_busy_worker(mode: str, tmp_path: Path) -> None:
    """Fifty forks while the parent logs and its threads work: each child logs once and ends at once, well."""
    run(
        """
        log = attach(handler(sys.argv[1]))
        stop = False
        def noise():
            number = 1000
            while not stop:
                log.info("%d", number)
                number += 1
                time.sleep(0.0005)
        thread = threading.Thread(target=noise)
        thread.start()
        for child in range(50):
            pid = os.fork()
            if pid == 0:
                signal.alarm(50)  # a child that hangs dies by it
                log.info("%d", child)
                assert flush(40)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        stop = True
        thread.join()
        assert flush(20), stats()
        """,
        tmp_path,
        sys_mode(mode),
    )
    settle(tmp_path)
    found = arrived(tmp_path)
    assert [found[child] for child in range(50)] == [1] * 50
    noise = sorted(number for number in found if number >= 1000)
    assert noise == list(range(1000, 1000 + len(noise)))
    assert set(found.values()) == {1}


def sys_mode(mode: str) -> str:
    """Return the durability as the program's argument."""
    return mode


def test_waiting_records_of_the_parent_are_not_the_childs(tmp_path: Path) -> None:
    """What waits in the parent's queue when it forks is stored once, by the parent, also when the child
    flushes.
    """
    run(
        """
        log = attach(handler("memory"))
        for number in range(500):
            log.info("%d", number)
        pid = os.fork()
        if pid == 0:
            log.info("1000")
            assert flush(20)
            assert stats()["accepted"] == 1
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        tmp_path,
    )
    settle(tmp_path)
    assert_complete(tmp_path, [*range(500), 1000])


def test_child_that_ends_normally_ships(tmp_path: Path) -> None:
    """A forked child that leaves by sys.exit runs atexit functions: its queue arrives or is in the spool."""
    run(
        """
        log = attach(handler("memory"))
        pid = os.fork()
        if pid == 0:
            log.info("1")
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        log.info("2")
        """,
        tmp_path,
    )
    settle(tmp_path)
    assert_complete(tmp_path, [1, 2])


def test_what_a_child_left_is_shipped_before_its_parent_ends(tmp_path: Path) -> None:
    """A program that ends right after its worker ships the worker's records first, and leaves none of them to
    the next program.
    """
    run(
        """
        made = handler(shutdown_timeout=60)
        log = attach(made)
        wait(lambda: made.pipeline.shipping.is_shipper, 60)
        if os.fork() == 0:
            log.info("8")
            os._exit(0)
        os.wait()
        """,
        tmp_path,
    )
    assert arrived(tmp_path)[8] == 1
    assert not waiting(tmp_path)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("mode", MODES)
def test_children_of_multiprocessing(method: str, mode: str, tmp_path: Path) -> None:
    """Processes and pools flush before they end, however they were started, also in memory durability."""
    run(
        """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        MODE = sys.argv[2]
        made = handler(MODE)
        log = attach(made)
        def work(number):
            log.info("%d", number)
            return number
        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            child = context.Process(target=work, args=(100,))
            child.start()
            child.join()
            assert child.exitcode == 0
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                assert sorted(pool.map(work, range(6))) == list(range(6))
            log.info("200")
        """,
        tmp_path,
        method,
        mode,
    )
    settle(tmp_path)
    assert_complete(tmp_path, [*range(6), 100, 200])


def test_prefork_server(tmp_path: Path) -> None:
    """A handler that is configured before the workers are forked serves all of them, and the directory has
    one shipper.
    """
    run(
        """
        log = attach(handler("memory"))
        workers = []
        for worker in range(4):
            pid = os.fork()
            if pid == 0:
                for number in range(50):
                    log.info("%d", worker * 100 + number)
                assert flush(20), stats()
                os._exit(0)
            workers.append(pid)
        for pid in workers:
            assert os.waitpid(pid, 0)[1] == 0
        """,
        tmp_path,
    )
    settle(tmp_path)
    assert_complete(tmp_path, [worker * 100 + number for worker in range(4) for number in range(50)])


def test_child_lives_longer_than_its_parent(tmp_path: Path) -> None:
    """A child that outlives its parent becomes the shipper: nothing that it inherited keeps the lock."""
    run(
        """
        log = attach(handler("memory"))
        log.info("1")
        assert flush(20)
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent is gone
            log.info("2")
            done = flush(20) and stats()["stored"] == {"out": 1}
            os.write(os.open("child", os.O_WRONLY | os.O_CREAT), b"%d" % done)
            os._exit(0)
        os._exit(0)
        """,
        tmp_path,
    )
    wait_until(lambda: has_content(tmp_path / "child"))
    assert (tmp_path / "child").read_text() == "1"
    assert_complete(tmp_path, [1, 2])


def has_content(file: Path) -> bool:
    """Tell whether a file has something in it."""
    return file.exists() and file.stat().st_size > 0


def test_programs_at_the_same_time_on_one_directory(tmp_path: Path) -> None:
    """Four programs write into one directory at once; all records arrive, each once."""
    from tests.pipeline.programs import start

    script = """
    log = attach(handler(sys.argv[2]))
    for number in range(300):
        log.info("%d", int(sys.argv[1]) * 1000 + number)
    """
    programs = [start(script, tmp_path, str(index), MODES[index % 2]) for index in range(4)]
    for program in programs:
        _, complaints = program.communicate(timeout=60)
        assert program.returncode == 0, complaints
    settle(tmp_path)
    assert_complete(tmp_path, [index * 1000 + number for index in range(4) for number in range(300)])
    assert not waiting(tmp_path)
