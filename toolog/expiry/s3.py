"""Expiry in S3: a lifecycle rule for the key prefix of each policy.

S3 deletes by itself, by whole days after an object was made, from the next midnight UTC on, and when it comes
to it. It knows no hold. Writing rules replaces a bucket's whole configuration, so it is read, ours are merged
in by their ids, and all others are written back as the bytes that they were (see `toolog.expiry.rulebook`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.expiry.plan import DAY, Bounds, Change, SinkPlan, Term
from toolog.expiry.rulebook import Rulebook
from toolog.expiry.target import Tell
from toolog.retention import Policies
from toolog.sinks.s3.clients import connect_s3
from toolog.sinks.s3.faults import code_of, explain
from toolog.sinks.s3.names import policy_prefix
from toolog.sinks.s3.options import ACCESS_KEYS, access

OURS = "toolog:"
"""How the ids of our rules begin; the key prefix follows."""

_COUNTED = "from the upload, to the next midnight UTC, then when S3 comes to it"
_RIGHTS = "s3:GetLifecycleConfiguration and s3:PutLifecycleConfiguration"
_GET = "before-parse.s3.GetBucketLifecycleConfiguration"
_PUT = "before-call.s3.PutBucketLifecycleConfiguration"
_DEFAULT_SIZE = "TransitionDefaultMinimumObjectSize"


@dataclass(frozen=True, slots=True)
class _Read:
    """A bucket's configuration: the document, its rules as the client understood them, and what else must be
    written back with them.
    """

    book: Rulebook
    rules: list[dict[str, Any]]
    around: dict[str, Any]


class S3Target:
    """The bucket of one S3 sink; ``options`` are the sink's."""

    def __init__(self, name: str, options: Mapping[str, Any], policies: Policies) -> None:
        self.name = name
        self._access = access({key: options[key] for key in ACCESS_KEYS if key in options}, f"sink {name!r}")
        self._bucket = self._access.bucket
        self._prefix = str(options.get("prefix", ""))
        self._wanted: dict[str, int] = {}
        self._policies = policies.of_sink(name)
        self._elsewhere = {self._key(policy.name) for policy in policies if name not in policy.sinks}
        for policy in self._policies:
            if policy.keep is not None:
                self._wanted[self._key(policy.name)] = max(1, math.ceil(policy.keep / DAY))
        self._client: Any = None

    # -- what holds

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is."""
        return SinkPlan(self.name, "s3", "lifecycle rules", f"s3://{self._bucket}/{self._start()}")

    def examine(self, now: float) -> SinkPlan:
        """Read the bucket's rules and compare."""
        plan = self.blank()
        for policy in self._policies:
            key = self._key(policy.name)
            days = self._wanted.get(key)
            bounds = Bounds(None, None, "nothing deletes them")
            if days is not None:
                bounds = Bounds(days * DAY, (days + 1) * DAY, _COUNTED)
            plan.terms.append(Term(policy.name, policy.keep, key, bounds))
        found = self._read()
        plan.changes += self._changes(found.rules)
        plan.notes += self._notes(found.rules)
        plan.foreign += self._foreign(found.rules)
        return plan

    def _changes(self, rules: list[dict[str, Any]]) -> Iterator[Change]:
        there = {str(rule.get("ID")): rule for rule in rules}
        for key, days in self._wanted.items():
            rule = there.get(_id(key))
            wanted = _expiring(key, days)
            if rule is None:
                yield Change("create", f"lifecycle rule {_id(key)}", None, wanted)
            elif rule != wanted:
                yield Change("change", f"lifecycle rule {_id(key)}", rule, wanted)
        for rule in rules:
            if self._is_left_over(rule):
                yield Change("remove", f"lifecycle rule {rule['ID']}", rule, None)

    def _is_left_over(self, rule: Mapping[str, Any]) -> bool:
        """Whether a rule is ours, for this sink's keys, and no policy asks for it any more.

        One of a policy that goes to another sink only is that sink's matter: it may be in this bucket.
        """
        if _prefix_of(rule) in self._elsewhere:
            return False
        name, prefix = str(rule.get("ID", "")), _prefix_of(rule)
        shape = re.escape(self._start()) + "policy=[^/]+/"
        is_ours = name.startswith(OURS) and prefix is not None and re.fullmatch(shape, prefix)
        return bool(is_ours) and name not in {_id(key) for key in self._wanted}

    def _notes(self, rules: list[dict[str, Any]]) -> Iterator[str]:
        for rule in rules:
            if self._is_left_over(rule):
                yield (
                    f"no policy asks for an end of {_prefix_of(rule)} any more: its rule goes, its objects "
                    "stay until somebody deletes them"
                )
            elif _prefix_of(rule) in self._elsewhere and _deletes(rule):
                yield (
                    f"no policy of this sink goes to {_prefix_of(rule)} any more, but the rule "
                    f"{rule.get('ID')!r} goes on deleting there; another sink may want it, so it stays"
                )
        if self._wanted and self._is_versioned():
            yield (
                f"the bucket {self._bucket} keeps versions: an expired object stays as an older version "
                "until a rule for those deletes it, and none is added that was not asked for"
            )

    def _foreign(self, rules: list[dict[str, Any]]) -> Iterator[str]:
        """Yield what rules that are not ours delete sooner than our policies say."""
        ours = {_id(key) for key in self._wanted}
        for rule in rules:
            if rule.get("ID") in ours or self._is_left_over(rule) or not _deletes(rule):
                continue
            prefix, days = _prefix_of(rule) or "", rule["Expiration"].get("Days")
            for policy in self._policies:
                key = self._key(policy.name)
                reaches = key.startswith(prefix) or prefix.startswith(key)
                if reaches and (days is None or self._wanted.get(key, math.inf) > days):
                    when = f"after {days} days" if days is not None else f"on {rule['Expiration']['Date']}"
                    some = " that its filter covers" if set(rule.get("Filter", {})) - {"Prefix"} else ""
                    yield (
                        f"shortened by the rule {rule.get('ID')!r}, which is not ours: it deletes objects "
                        f"below {prefix or '/'}{some} {when}, records of {policy.name} among them: that is "
                        "sooner than its policy says"
                    )

    # -- making it so

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Merge our rules into the bucket's configuration as it is now, in one request."""
        if not plan.changes:
            return
        found = self._read()
        changes = list(self._changes(found.rules))
        touched = {str((change.after or change.before)["ID"]) for change in changes}
        without = {place for place, rule in enumerate(found.rules) if rule.get("ID") in touched}
        new = [change.after for change in changes if change.after is not None]
        add = [(rule["ID"], rule["Filter"]["Prefix"], rule["Expiration"]["Days"]) for rule in new]
        rest = [rule for place, rule in enumerate(found.rules) if place not in without]
        if rest or new:
            self._write(found.book.rewrite(without, add), [*rest, *new], found.around)
        elif changes:
            with self._asking():
                self._connect().delete_bucket_lifecycle(Bucket=self._bucket)
        for change in changes:
            tell(f"{change.action}d {change.what}")

    def doubt(self, now: float) -> str:
        """Nothing: the server has a clock of its own."""
        return ""

    def purge(self, now: float, tell: Tell) -> int:
        """Nothing: S3 deletes by its rules."""
        return 0

    # -- the bucket

    def _read(self) -> _Read:
        client = self._connect()
        raw = b""

        def keep(response_dict: Mapping[str, Any], **_: Any) -> None:
            nonlocal raw
            raw = response_dict["body"]

        client.meta.events.register(_GET, keep)
        try:
            with self._asking():
                answer = client.get_bucket_lifecycle_configuration(Bucket=self._bucket)
        except _Absent:
            return _Read(Rulebook(), [], {})
        finally:
            client.meta.events.unregister(_GET, keep)
        rules = answer.get("Rules", [])
        try:
            book = Rulebook(raw)
        except ValueError as error:
            raise SinkUnavailable(f"bucket {self._bucket}: {error}") from error
        if len(book.rules) != len(rules):
            raise SinkUnavailable(
                f"bucket {self._bucket}: its {len(book.rules)} lifecycle rules could not be told apart; "
                "nothing was changed"
            )
        return _Read(book, rules, {name: answer[name] for name in (_DEFAULT_SIZE,) if name in answer})

    def _write(self, raw: bytes, rules: list[dict[str, Any]], around: Mapping[str, Any]) -> None:
        """Put a configuration; the client checks and signs a request whose body is exactly ``raw``."""
        client = self._connect()

        def replace(params: dict[str, Any], **_: Any) -> None:
            params["body"] = raw

        client.meta.events.register(_PUT, replace)
        try:
            with self._asking():
                client.put_bucket_lifecycle_configuration(
                    Bucket=self._bucket, LifecycleConfiguration={"Rules": rules}, **around
                )
        finally:
            client.meta.events.unregister(_PUT, replace)

    def _is_versioned(self) -> bool:
        try:
            with self._asking():
                answer = self._connect().get_bucket_versioning(Bucket=self._bucket)
        except SinkUnavailable:  # only a note hangs on it
            return False
        return bool(answer.get("Status") == "Enabled")

    def _connect(self) -> Any:
        if self._client is None:
            self._client = connect_s3(self._access, f"sink {self.name!r}")
        return self._client

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn the client's errors into ours: what, where, and what to do."""
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith("botocore"):
                raise
            code = code_of(error)
            if code == "NoSuchLifecycleConfiguration":
                raise _Absent from error
            if code == "AccessDenied":
                raise SinkDenied(
                    f"{self._access.place} answered AccessDenied: retention needs the rights {_RIGHTS} on it"
                ) from error
            raise explain(error, self._access.place).error from error

    def _key(self, policy: str) -> str:
        return policy_prefix(self._prefix, policy)

    def _start(self) -> str:
        return self._key("any").removesuffix("policy=any/")


class _Absent(Exception):
    """The bucket has no lifecycle configuration."""


def _id(key: str) -> str:
    """Return the id of the rule for a key prefix; S3 takes 255 characters."""
    name = OURS + key
    return name if len(name) <= 255 else OURS + blake2b(key.encode(), digest_size=16).hexdigest()


def _deletes(rule: Mapping[str, Any]) -> bool:
    """Whether a rule deletes objects; one on the marks of deleted versions only does not."""
    ending = rule.get("Expiration", {})
    return rule.get("Status") == "Enabled" and ("Days" in ending or "Date" in ending)


def _expiring(key: str, days: int) -> dict[str, Any]:
    return {
        "Expiration": {"Days": days},
        "ID": _id(key),
        "Filter": {"Prefix": key},
        "Status": "Enabled",
    }


def _prefix_of(rule: Mapping[str, Any]) -> str | None:
    """Return the key prefix of a rule in any of the forms that S3 has had for it."""
    chosen = rule.get("Filter", {})
    prefix = chosen.get("Prefix", chosen.get("And", {}).get("Prefix", rule.get("Prefix")))
    return None if prefix is None else str(prefix)
