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
from toolog.errors import ConfigError

if TYPE_CHECKING:
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
    timeout: str | None,
    metrics: str | None,
    as_json: bool,
) -> int:
    """Ship what is in the spool DIR (by default the configured one) to its sinks, and what comes.

    It does what the threads of an application do with ship = "background"; applications beside it write only,
    with ship = "none". One process at a time ships a spool: this one waits while another does, and takes over
    within a second when that ends or dies. Sinks and policies come from --config, else from [tool.toolog] of
    pyproject.toml, and the environment.

    SIGTERM and SIGINT finish the batches in flight and end within 5 seconds; a second one ends at once.
    SIGHUP reads the configuration again; one that cannot be used changes nothing. With --once the exit code
    is 1 when something is left in the spool, was refused or was dropped; with --status when something is to
    be shipped and nobody ships. With --json there is one object for each event.

    \b
    Example:
      toolog ship /var/spool/toolog --config /etc/toolog.toml --metrics 9464
      toolog ship .toolog/spool --once --timeout '5 min'
    """
    from toolog.shipper import Shipper
    from toolog.shipper import metrics as figures
    from toolog.shipper.config import read_options
    from toolog.shipper.output import Output
    from toolog.shipper.status import take_status
    from toolog.units import parse_duration

    if timeout is not None and not once:
        raise click.UsageError("--timeout belongs to --once")
    if (once or status) and directory is not None and not directory.is_dir():
        raise ConfigError(f"there is no spool at {directory}")
    if status:
        if once or metrics is not None:
            raise click.UsageError("--status ships nothing: it goes with --config and --json alone")
        return _show_status(take_status(read_options(directory, config)), as_json)
    patience = None if timeout is None else parse_duration(timeout, "--timeout")
    address = None if metrics is None else figures.parse_address(metrics)
    output = Output(as_json=as_json)
    shipper = Shipper(partial(read_options, directory, config), output.tell, once=once, patience=patience)
    with _signals(shipper, output), _troubles(output):
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
            click.echo(f"{sink}: {left[sink]} records to ship, {dead[sink]} dead letters")
    return FOUND_FAULTS if owner is None and any(left.values()) else 0


@contextmanager
def _signals(shipper: Shipper, output: Output) -> Iterator[None]:
    """Let signals end the shipper, or have it read its configuration again."""
    ends = (signal.SIGTERM, signal.SIGINT)

    def end(number: int, frame: FrameType | None) -> None:
        for one in ends:  # a second one is obeyed at once
            signal.signal(one, signal.SIG_DFL)
        shipper.stop()

    before = {number: signal.signal(number, end) for number in ends}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda number, frame: shipper.reload())
    try:
        yield
    finally:
        output.close()
        for number, handler in before.items():
            signal.signal(number, handler)


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
