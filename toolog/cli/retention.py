"""`toolog retention`: what the policies mean for each sink, making it so, and checking that it is so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolog.cli.common import FOUND_FAULTS, NO_ANSWER, json_option, print_json, print_lines, regardless
from toolog.errors import ConfigError, nearest

if TYPE_CHECKING:
    from toolog.expiry import SinkPlan, Target

ACTIONS = ("plan", "apply", "verify")


@click.command("retention", short_help="Show, apply and verify how long each sink keeps records.")
@click.argument("action", metavar="plan|apply|verify", type=click.Choice(ACTIONS))
@click.option(
    "--purge", is_flag=True, help="apply: also delete what is past its age where no server does it."
)
@click.option("--dry-run", is_flag=True, help="apply: show it, with counts, and change nothing.")
@click.option(
    "--trust-clock",
    is_flag=True,
    help="apply --purge: delete also where nothing new came for so long that nothing would be left.",
)
@click.option("--sink", "only", metavar="NAME", multiple=True, help="Only this sink; may be given again.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML or JSON file with sinks and policies, instead of pyproject.toml.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    action: str,
    purge: bool,
    dry_run: bool,
    trust_clock: bool,
    only: tuple[str, ...],
    config: Path | None,
    as_json: bool,
) -> None:
    """Compile the retention policies into what each sink needs, and keep it so.

    `plan` shows what each policy really means in each sink, what `apply` would change there, and what a purge
    would delete or leave because it is on hold; it changes nothing. `apply` writes rules and policies to the
    servers (a second time it finds nothing to do), and with --purge deletes what is past its age where no
    server does it by itself. `verify` reads everything back and compares, and names what settings of others
    delete sooner. Relative paths of sinks go by the working directory, as the application's do.

    Sinks and policies come from --config, else from [tool.toolog] of pyproject.toml, and the environment.
    With --json there is one object for each sink. The exit code is 1 when `verify` finds that something is
    missing, different, left over or overdue, and 3 when a server did not answer or refused; the other sinks
    are served all the same.

    \b
    Example:
      toolog retention plan
      toolog retention apply --purge --dry-run
      toolog retention verify --config /etc/toolog.toml --json
    """
    if (purge or dry_run) and action != "apply":
        raise click.UsageError(f"--{'purge' if purge else 'dry-run'} belongs to apply", ctx)
    if trust_clock and not purge:
        raise click.UsageError("--trust-clock belongs to --purge", ctx)
    from toolog import expiry

    targets = _targets(config, only)
    now = time.time()
    plans = [expiry.look(target, now) for target in targets]
    if action == "apply" and not dry_run:
        enforce = partial(expiry.enforce, purge=purge, now=now, trust_clock=trust_clock)
        _apply(targets, plans, enforce, as_json)
    else:
        _show(plans, action == "verify", purge or action != "apply", as_json)
    if any(plan.trouble for plan in plans):
        ctx.exit(NO_ANSWER)
    if action == "verify" and any(plan.drift for plan in plans):
        ctx.exit(FOUND_FAULTS)


def _targets(config: Path | None, only: Sequence[str]) -> list[Target]:
    """Return the targets of the configuration, or those of them that were asked for. Raises ConfigError."""
    from toolog.expiry import make_target
    from toolog.shipper.config import read_options

    options = read_options(None, config)  # what is kept is what `toolog ship` would ship
    sinks = options.sinks
    for name in only:
        if name not in sinks:
            guess = nearest(name, sinks)
            hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(sinks) or 'none'}"
            raise ConfigError(f"there is no sink {name!r}; {hint}")
    return [make_target(name, sinks[name], options.policies) for name in only or sinks]


def _show(plans: Sequence[SinkPlan], is_verify: bool, purge: bool, as_json: bool) -> None:
    """Print plans; what a purge would do only where there is to be one."""
    if as_json:
        for plan in plans:
            print_json(plan.as_dict() if purge else {**plan.as_dict(), "purge": []})
    else:
        from toolog.report.retention import drift_lines, plan_lines

        print_lines(drift_lines(plans) if is_verify else plan_lines(plans, purge=purge))


def _apply(
    targets: Sequence[Target], plans: Sequence[SinkPlan], enforce: Callable[..., int | None], as_json: bool
) -> None:
    """Make each sink what its plan says; tell every step as it is done."""
    for target, plan in zip(targets, plans, strict=True):
        done: list[str] = []
        deleted = enforce(target, plan, done.append if as_json else _telling(plan.sink))
        if as_json:
            found = {"sink": plan.sink, "done": done, "deleted": deleted, "notes": plan.notes}
            found |= {"foreign": plan.foreign, "trouble": plan.trouble or None}
            with regardless():
                print_json(found)
        else:
            for sentence in (*plan.foreign, *plan.notes, plan.trouble):
                if sentence:
                    with contextlib.suppress(OSError):
                        click.echo(f"{plan.sink}: {sentence}", err=True)


def _telling(sink: str) -> Callable[[str], None]:
    from toolog.sinks.lines import visible

    def tell(sentence: str) -> None:
        with regardless():
            click.echo(f"{sink}: {visible(sentence)}")

    return tell
