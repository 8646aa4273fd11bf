"""What is on this machine: the store, files, and sinks that toolog does not know."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolog import sinks
from toolog.errors import ConfigError, SinkError, SinkUnavailable
from toolog.expiry.plan import DAY, GRACE, Bounds, Piece, SinkPlan, Term
from toolog.expiry.target import Tell
from toolog.retention import Policies
from toolog.sinks.file import FileSink, OldFile

if TYPE_CHECKING:
    from toolog.store import Store


def with_file_limits(name: str, options: Mapping[str, Any], policies: Policies) -> Mapping[str, Any]:
    """Return a file sink's options with what the policies say: it deletes whole rotated files by their age.

    A file is as old as its newest record, and holds records of all its policies, so the longest ``keep``
    counts; it is rotated at least daily, else nothing in it would ever be old. What the user wrote stays as
    it is.
    """
    keeps = [policy.keep for policy in policies.of_sink(name)]
    longest = max([keep for keep in keeps if keep is not None], default=None)
    if options.get("type", name) != "file" or longest is None or None in keeps:
        return options
    return {"max_age": longest, "rotate_every": min(DAY, longest), **options}


class StoreTarget:
    """The SQLite store at ``path``: rows are deleted by level and age."""

    def __init__(self, name: str, path: Path, policies: Policies) -> None:
        self.name = name
        self._path = path
        self._policies = policies

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is."""
        return SinkPlan(self.name, "sqlite", "toolog", str(self._path))

    def examine(self, now: float) -> SinkPlan:
        """Count what is old, and what of it is on hold."""
        plan = self.blank()
        for policy in self._policies.of_sink(self.name):
            kept = self._policies.kept(policy, self.name)
            ends = [keep for keep in kept if keep is not None]
            latest = max(ends) + DAY if len(ends) == len(kept) else None
            counted = "from the record's time, while a process ships there or purges run daily"
            bounds = Bounds(min(ends, default=None), latest, counted)
            plan.terms.append(Term(policy.name, policy.keep, str(self._path), bounds))
            if policy.keep is not None and any(keep != policy.keep for keep in kept):
                plan.notes.append(
                    f"{policy.name} asks for {_days(policy.keep)}, but a store knows records by the names of "
                    "their levels, and another policy keeps those of the same name longer: the longest keep "
                    "counts. A store of its own keeps them apart"
                )
        if not self._path.exists():
            plan.notes.append(f"there is no store at {self._path} yet")
            return plan
        with _open(self._path, read_only=True) as store:
            plan.notes += self._notes(store, now)
            for limit in self._policies.limits(self.name):
                before = now - limit.keep
                found = store.purge(limit.levels, before=before, dry_run=True)
                overdue = store.purge(limit.levels, before=before - GRACE, dry_run=True).deleted
                names, what = ", ".join(limit.policies), ", ".join(limit.levels)
                why = f"older than {_when(before)}"
                if found.deleted:
                    plan.pieces.append(
                        Piece("delete", names, what, why, found.deleted, overdue=bool(overdue))
                    )
                if found.held:
                    plan.pieces.append(Piece("hold", names, what, why, found.held, held=found.held))
        return plan

    def _notes(self, store: Store, now: float) -> Iterator[str]:
        left = self._policies.uncovered(self.name)
        number = _older(store, left, _EVER) if left else 0
        if number:
            yield (
                f"no policy sends {', '.join(left)} here any more: {number} records are left alone, and stay "
                "until somebody deletes them"
            )
        if doubt := self._doubt(store, now):
            yield doubt

    def doubt(self, now: float) -> str:
        """Doubt the clock where a purge would leave nothing of a level, as nothing new has come for long."""
        if not self._path.exists():
            return ""
        with _open(self._path, read_only=True) as store:
            return self._doubt(store, now)

    def _doubt(self, store: Store, now: float) -> str:
        log = self._path.with_name(f"{self._path.name}-wal")  # what was written last stands there
        written = max(one.stat().st_mtime for one in (self._path, log) if one.exists())
        for limit in self._policies.limits(self.name):
            since = now - limit.keep - GRACE
            if written >= since or _older(store, None, since) < _older(store, None, _EVER):
                continue  # something is young enough
            if store.purge(limit.levels, before=now - limit.keep, dry_run=True).deleted:
                return _doubt(self._path, limit.keep, now)
        return ""

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Nothing: a store has no settings of its own."""

    def purge(self, now: float, tell: Tell) -> int:
        """Delete old rows."""
        gone = 0
        if self._path.exists():
            with _open(self._path, read_only=False) as store:
                for limit in self._policies.limits(self.name):
                    deleted = store.purge(limit.levels, before=now - limit.keep).deleted
                    if deleted:
                        tell(f"deleted {deleted} records of {', '.join(limit.levels)} from {self._path}")
                    gone += deleted
        return gone


class FileTarget:
    """A file sink: whole files are deleted when their newest record is past the longest ``keep``."""

    def __init__(self, name: str, options: Mapping[str, Any], policies: Policies) -> None:
        self.name = name
        self._policies = policies
        self._options = with_file_limits(name, options, policies)
        made = sinks.create(name, self._options)
        assert isinstance(made, FileSink)
        self._sink = made

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is."""
        return SinkPlan(self.name, "file", "toolog", str(self._sink.path))

    def examine(self, now: float) -> SinkPlan:
        """List the files that are too old."""
        plan, path = self.blank(), str(self._sink.path)
        if self._sink.path.is_dir():
            raise SinkUnavailable(f"{path} is a directory; path of sink {self.name!r} is to name a file")
        age, every = self._sink.max_age or None, self._sink.rotate_every or None
        latest = None if age is None or every is None else age + every
        for policy in self._policies.of_sink(self.name):
            bounds = Bounds(
                age, latest, "from a file's last record, when it is rotated and a process ships there"
            )
            plan.terms.append(Term(policy.name, policy.keep, path, bounds))
            if policy.keep is not None and age != policy.keep:
                plan.notes.append(
                    f"{policy.name} asks for {_days(policy.keep)}, but these files are kept for "
                    f"{'ever' if age is None else _days(age)}: max_age, or the longest keep of all policies, "
                    "counts. A file sink of its own keeps them apart"
                )
        if self._sink.max_files:
            plan.notes.append(f"max_files may delete sooner: only {self._sink.max_files} rotated files stay")
        plan.pieces += [self._piece(old, age, now) for old in self._sink.old_files()]
        if doubt := self.doubt(now):
            plan.notes.append(doubt)
        return plan

    def doubt(self, now: float) -> str:
        """Doubt the clock where a purge would leave no file, as nothing was written for long."""
        age, path = self._sink.max_age, self._sink.path
        if not age or all(old.held for old in self._sink.old_files()):
            return ""
        files = path.parent.glob(f"{glob.escape(path.name.partition('.')[0])}*")
        newest = max((file.stat().st_mtime for file in files), default=now)
        return _doubt(path, age, now) if now - newest > age + GRACE else ""

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Nothing: a file has no settings of its own."""

    def purge(self, now: float, tell: Tell) -> int:
        """Delete old files, also the one that nobody writes to any more."""
        if self._sink.path.exists():
            try:
                self._sink.connect()
            except SinkUnavailable:  # a process writes it, and rotates it itself
                pass
        try:
            gone = self._sink.delete_old()
        except OSError as error:
            raise SinkUnavailable(f"{error.filename or self._sink.path}: {error.strerror}") from error
        finally:
            self._sink.close()
        if gone:
            tell(f"deleted {gone} files of {self._sink.path}")
        return gone

    def _piece(self, old: OldFile, age: float | None, now: float) -> Piece:
        overdue = not old.held and age is not None and now - old.written > age + GRACE
        return Piece(
            "hold" if old.held else "delete",
            ", ".join(policy.name for policy in self._policies.of_sink(self.name)),
            str(old.path),
            f"{old.why}; last written {_when(old.written)}",
            bytes=old.size,
            newest=old.written,
            held=int(old.held),
            overdue=overdue,
        )


class OwnTarget:
    """A sink of the user's own: its method ``purge(levels, before)`` does it, if it has one."""

    def __init__(self, name: str, options: Mapping[str, Any] | sinks.Sink, policies: Policies) -> None:
        self.name = name
        self._kind = (
            str(options.get("type", name)) if isinstance(options, Mapping) else type(options).__name__
        )
        self._policies = policies
        self._options = options

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is."""
        return SinkPlan(
            self.name, self._kind, "its own purge" if self._own(self._make()) else "nobody", self.name
        )

    def examine(self, now: float) -> SinkPlan:
        """Say who deletes there; what is old only the sink knows."""
        plan, own = self.blank(), self._own(self._make())
        counted = "by the sink's own purge" if own else "what becomes of them there is not up to toolog"
        for policy in self._policies.of_sink(self.name):
            earliest = policy.keep if own else None
            plan.terms.append(Term(policy.name, policy.keep, self.name, Bounds(earliest, None, counted)))
        return plan

    def doubt(self, now: float) -> str:
        """Nothing is known of the records of such a sink."""
        return ""

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Nothing: its settings are its own."""

    def purge(self, now: float, tell: Tell) -> int:
        """Ask the sink to delete what is old."""
        sink = self._make()
        own = self._own(sink)
        if own is None:
            return 0
        gone = 0
        try:
            sink.connect()
            for limit in self._policies.limits(self.name):
                gone += int(own(list(limit.levels), now - limit.keep) or 0)
        except Exception as error:  # it is the user's code
            if isinstance(error, SinkError | ConfigError):
                raise
            raise SinkUnavailable(
                f"purge of sink {self.name!r} failed: {type(error).__name__}: {error}"
            ) from error
        finally:
            sink.close()
        if gone:
            tell(f"{gone} records deleted by {self._kind}")
        return gone

    def _make(self) -> sinks.Sink:
        return sinks.create(self.name, self._options)

    @staticmethod
    def _own(sink: sinks.Sink) -> Callable[[list[str], float], int | None] | None:
        own = getattr(sink, "purge", None)
        return own if callable(own) else None


def _open(path: Path, *, read_only: bool) -> Store:
    from toolog import store  # sqlite3 is loaded with it: only where there is such a store

    return store.open(path, read_only=read_only)


_EVER = 32_503_680_000.0
"""The year 3000: no record is younger."""


def _older(store: Store, levels: Iterable[str] | None, before: float) -> int:
    """Return how many records are older, those on hold among them."""
    found = store.purge(levels, before=before, dry_run=True)
    return found.deleted + found.held


def _doubt(path: Path, keep: float, now: float) -> str:
    return (
        f"{path}: by this host's clock ({_when(now)}) nothing was written there for more than "
        f"{_days(keep + GRACE)}, so everything would be past its age at once. A clock that is wrong looks "
        "the same: nothing is deleted unless `toolog retention apply --purge --trust-clock` says it is right"
    )


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _days(seconds: float) -> str:
    return f"{seconds / DAY:g} days"
