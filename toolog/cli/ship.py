"""`toolog ship`: a spool on its way to its sinks, as a process of its own."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from toolog.cli.common import FOUND_FAULTS, json_option, print_json
from toolog.errors import ConfigError, SpoolError

if TYPE_CHECKING:
    from toolog.pipeline import Options
    from toolog.shipper import Shipper
    from toolog.shipper.output import Output


@click.command("ship", short_help="Ship a spool to its sinks, as a process of its own.")
@click.argument(
    "directory", metavar="[DIR]", type=click.Path(path_type=Path, file_okay=False), required=False
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML or JSON file with sinks and policies, instead of pyproject.toml.",
)
@click.option("--once", is_flag=True, help="End when the spool is empty.")
@click.option("--status", is_flag=True, help="Only show what is in the spool, and who ships it.")
@click.option(
    "--forget",
    metavar="SINK",
    help="Give up what waits for a sink that the configuration does not name any more, and nothing else.",
)
@click.option("--timeout", metavar="DURATION", help="With --once: end after this time in any case.")
@click.option(
    "--metrics",
    metavar="PORT|HOST:PORT",
    help="Serve figures for Prometheus there; on loopback without a host, 0 for a free port.",
)
@json_option
def command(
    directory: Path | None,
    config: Path | None,
    once: bool,
    status: bool,
    forget: str | None,
    timeout: str | None,
    metrics: str | None,
    as_json: bool,
) -> int:
    """Ship what is in the spool DIR (by default the configured one) to its sinks, and what comes.

    It does what the threads of an application do with ship = "background"; applications beside it write only,
    with ship = "none". One process at a time ships a spool: this one waits while another does, and takes over
    within a second when that ends or dies. Sinks and policies come from --config, else from [tool.toolog] of
    pyproject.toml, and the environment.

    What waits for a sink that is not among them any more stays in the spool, and that is said; the sink gets
    it when it is among them again. --forget SINK gives it up.

    SIGTERM and SIGINT finish the batches in flight and end within 5 seconds; a second one ends at once.
    SIGHUP reads the configuration again; one that cannot be used changes nothing. With --once the exit code
    is 1 when something is left in the spool, was refused, dropped or damaged; with --status when something is
    to be shipped and nobody ships. With --json there is one object for each event.

    \b
    Example:
      toolog ship /var/spool/toolog --config /etc/toolog.toml --metrics 9464
      toolog ship .toolog/spool --once --timeout '5 min'
    """
    from toolog.shipper import Shipper
    from toolog.shipper import metrics as figures
    from toolog.shipper.config import read_options
    from toolog.shipper.devotion import devoted
    from toolog.shipper.output import Output
    from toolog.shipper.status import take_status
    from toolog.units import parse_duration

    if timeout is not None and not once:
        raise click.UsageError("--timeout belongs to --once")
    if (once or status or forget is not None) and directory is not None and not directory.is_dir():
        raise ConfigError(f"there is no spool at {directory}")
    if status:
        if once or metrics is not None:
            raise click.UsageError("--status ships nothing: it goes with --config and --json alone")
        return _show_status(take_status(read_options(directory, config, to_look=True)), as_json)
    if forget is not None:
        if once or metrics is not None:
            raise click.UsageError("--forget ships nothing: it goes with --config and --json alone")
        return _forget(forget, read_options(directory, config), as_json)
    patience = None if timeout is None else parse_duration(timeout, "--timeout")
    address = None if metrics is None else figures.parse_address(metrics)
    hangups = _Hangups()  # `main` has it ignored until here; from now on it counts
    output = Output(as_json=as_json)
    shipper = Shipper(partial(read_options, directory, config), output.tell, once=once, patience=patience)
    with devoted(), _signals(shipper, output, hangups), _troubles(output):
        if address is not None:
            output.tell_metrics(figures.serve(shipper, address))
        delivered = shipper.run()
    code = FOUND_FAULTS if once and not delivered else 0
    if shipper.hangs:  # its client may have threads that the interpreter would wait for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _show_status(status: dict[str, Any], as_json: bool) -> int:
    """Print how a spool is doing; return the exit code."""
    left, dead, owner = status["in_spool"], status["dead_letters"], status["shipper"]
    if as_json:
        print_json(status)
    else:
        who = "nobody ships it" if owner is None else f"process {owner} ships it"
        click.echo(f"{status['spool']}: {status['segments']} segments, {status['bytes']} bytes; {who}")
        for sink in left:
            note = "; no sink of this name is configured here" if sink in status["unserved"] else ""
            parts = [f"{number} of {policy}" for policy, number in status["by_policy"].get(sink, {}).items()]
            which = f" ({', '.join(parts)})" if parts and left[sink] else ""
            click.echo(f"{sink}: {left[sink]} records to ship{which}, {dead[sink]} dead letters{note}")
    return FOUND_FAULTS if owner is None and any(left.values()) else 0


def _forget(sink: str, options: Options, as_json: bool) -> int:
    """Give up what waits for a sink that is not configured; return the exit code. Raises ConfigError."""
    from toolog.spool import ShipperLock, claims

    if sink in options.sinks:
        raise ConfigError(
            f"the sink {sink!r} is configured; only what waits for one that is not can be given up"
        )
    lock = ShipperLock(options.directory)
    try:
        number = claims.forget(options.directory, sink, options.sinks, is_shipper=lock.try_acquire())
    except SpoolError as error:
        raise ConfigError(str(error)) from error
    finally:
        lock.release()
    if as_json:
        print_json({"sink": sink, "given_up": number})
    else:
        click.echo(f"{number} records that waited for {sink} are given up")
    return 0


class _Hangups:
    """SIGHUP from the first moment on: one that comes before there is a shipper is passed on to it."""

    def __init__(self) -> None:
        self._shipper: Shipper | None = None
        self._came = False
        self._before = signal.signal(signal.SIGHUP, self._take)

    def pass_to(self, shipper: Shipper) -> None:
        """Have the shipper read its configuration again, from now on and if one came already."""
        self._shipper = shipper
        if self._came:
            shipper.reload()

    def restore(self) -> None:
        """Put back what was there before."""
        signal.signal(signal.SIGHUP, self._before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self._shipper is not None:
            self._shipper.reload()


@contextmanager
def _signals(shipper: Shipper, output: Output, hangups: _Hangups) -> Iterator[None]:
    """Let signals end the shipper, or have it read its configuration again."""
    ends = (signal.SIGTERM, signal.SIGINT)
    came = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:  # not left to the system: the first process of a container has no default for signals
            os._exit(128 + number)
        came = True
        shipper.stop()

    before = {number: signal.signal(number, end) for number in ends}
    hangups.pass_to(shipper)
    try:
        yield
    finally:
        output.close()
        for number, handler in before.items():
            signal.signal(number, handler)
        hangups.restore()


@contextmanager
def _troubles(output: Output) -> Iterator[None]:
    """Show what toolog tells of its own troubles among the other events."""

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            output.tell_trouble(record.getMessage().removeprefix("toolog: "))

    teller = Teller()
    logger = logging.getLogger("toolog.internal")
    logger.addHandler(teller)
    try:
        yield
    finally:
        logger.removeHandler(teller)
