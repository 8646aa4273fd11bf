"""Lifecycle rules on a real S3 server: written, read back, and obeyed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.services.s3_proxy import ACCESS_DENIED, S3Proxy
from tests.services.seaweedfs import SeaweedFS
from toolog import expiry
from toolog.errors import ConfigError
from toolog.expiry import SinkPlan
from toolog.retention import Policies

TABLE = {"INFO": {"keep": "7 days"}, "ERROR": {"keep": "30 days"}}
THEIRS: list[dict[str, Any]] = [
    {"ID": "others & co", "Filter": {"Prefix": "reports/"}, "Status": "Enabled", "Expiration": {"Days": 3}},
    {
        "ID": "tagged",
        "Filter": {"And": {"Prefix": "tmp/", "Tags": [{"Key": "a", "Value": "b<c"}]}},
        "Status": "Disabled",
        "Expiration": {"Days": 1},
    },
    {
        "ID": "uploads",
        "Prefix": "old/",
        "Status": "Enabled",
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2},
    },
]


class Archive:
    """A bucket and the sink that writes there."""

    def __init__(self, server: SeaweedFS, bucket: str) -> None:
        self.client = server.client()
        self.bucket = bucket
        self.options = {
            "type": "s3",
            "bucket": bucket,
            "prefix": "calls",
            "endpoint_url": server.endpoint_url,
            "region": server.region,
            "access_key_id": server.access_key,
            "secret_access_key": server.secret_key,
        }

    def look(self, table: Mapping[str, Any] = TABLE, **options: Any) -> SinkPlan:
        """Return the plan of a table of policies."""
        return expiry.look(self._target(table, options), time.time())

    def apply(self, table: Mapping[str, Any] = TABLE, **options: Any) -> list[str]:
        """Apply a table of policies, and return what was told."""
        told: list[str] = []
        target = self._target(table, options)
        plan = expiry.look(target, time.time())
        assert expiry.enforce(target, plan, told.append, purge=True, now=time.time()) == 0
        return told

    def _target(self, table: Mapping[str, Any], options: Mapping[str, Any]) -> expiry.Target:
        policies = Policies.from_config(table, ["archive"])
        return expiry.make_target("archive", {**self.options, **options}, policies)

    def rules(self) -> dict[str, dict[str, Any]]:
        """Return the rules that the server has, by id."""
        try:
            answer = self.client.get_bucket_lifecycle_configuration(Bucket=self.bucket)
        except self.client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchLifecycleConfiguration":
                raise
            return {}
        return {rule["ID"]: rule for rule in answer["Rules"]}

    def raw(self) -> bytes:
        """Return the configuration's document as the server gives it out."""
        seen: list[bytes] = []
        event = "before-parse.s3.GetBucketLifecycleConfiguration"
        self.client.meta.events.register(
            event, lambda response_dict, **_: seen.append(response_dict["body"]), "t"
        )
        self.client.get_bucket_lifecycle_configuration(Bucket=self.bucket)
        self.client.meta.events.unregister(event, unique_id="t")
        return seen[0]

    def put_rules(self, rules: list[dict[str, Any]]) -> None:
        """Write rules as somebody else would."""
        configuration = {"Rules": rules}
        self.client.put_bucket_lifecycle_configuration(
            Bucket=self.bucket, LifecycleConfiguration=configuration
        )

    def keys(self) -> list[str]:
        """Return the keys of all objects."""
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", ())]


@pytest.fixture
def archive(seaweedfs: SeaweedFS, bucket: str) -> Archive:
    """Return an empty bucket."""
    return Archive(seaweedfs, bucket)


def test_each_policy_with_an_end_becomes_a_rule(archive: Archive) -> None:
    """The rule's prefix is the policy's and ends with a slash, days are rounded up, and nothing else is
    asked for.
    """
    table = {**TABLE, "DEBUG": {"keep": "36 hours"}, "CRITICAL": {}}
    told = archive.apply(table)
    assert len(told) == 3
    assert archive.rules() == {
        f"toolog:calls/policy={policy}/": {
            "ID": f"toolog:calls/policy={policy}/",
            "Filter": {"Prefix": f"calls/policy={policy}/"},
            "Status": "Enabled",
            "Expiration": {"Days": days},
        }
        for policy, days in (("debug", 2), ("info", 7), ("error", 30))
    }


def test_applied_twice_changes_nothing(archive: Archive) -> None:
    """The second time there is nothing to do, and nothing is written."""
    assert archive.look().drift != []
    archive.apply()
    before = archive.raw()
    assert archive.look().drift == []
    assert archive.apply() == []
    assert archive.raw() == before


def test_rules_of_others_survive_byte_for_byte(archive: Archive) -> None:
    """Adding, changing and removing ours leaves theirs as the server gave them out before."""
    archive.put_rules(THEIRS)
    before = archive.raw()
    archive.apply()
    archive.apply({**TABLE, "INFO": {"keep": "9 days"}})
    archive.apply({"ERROR": {"keep": "30 days"}})
    with_one = archive.raw()
    assert with_one.startswith(before[: -len(b"</LifecycleConfiguration>")])
    assert with_one.count(b"<Rule>") == len(THEIRS) + 1
    archive.apply({"ERROR": {}})
    assert archive.raw() == before


@pytest.mark.parametrize(
    ("change", "word"),
    [({"Expiration": {"Days": 3}}, "different"), ({"Status": "Disabled"}, "different"), (None, "missing"),
     ({"Filter": {"Prefix": "calls/policy=info"}}, "different")],
)  # fmt: skip
def test_drift_is_found_and_put_right(archive: Archive, change: dict[str, Any] | None, word: str) -> None:
    """A rule of ours that somebody changed or deleted is named, and applying brings it back."""
    archive.apply()
    rules = archive.rules()
    wanted = dict(rules)
    changed = rules.pop("toolog:calls/policy=info/")
    archive.put_rules([*rules.values(), *([] if change is None else [{**changed, **change}])])
    assert archive.look().drift == [f"{word}: lifecycle rule toolog:calls/policy=info/"]
    archive.apply()
    assert archive.rules() == wanted


def test_a_policy_that_was_removed_loses_its_rule_and_keeps_its_objects(archive: Archive) -> None:
    """Nothing deletes the objects of a policy that is not there any more; the plan says so."""
    archive.apply()
    archive.client.put_object(Bucket=archive.bucket, Key="calls/policy=info/date=x/one", Body=b"1")
    plan = archive.look({"ERROR": {"keep": "30 days"}})
    assert plan.drift == ["left over: lifecycle rule toolog:calls/policy=info/"]
    [note] = plan.notes
    assert "calls/policy=info/" in note
    assert "stay until somebody deletes them" in note
    archive.apply({"ERROR": {"keep": "30 days"}})
    assert list(archive.rules()) == ["toolog:calls/policy=error/"]
    assert archive.keys() == ["calls/policy=info/date=x/one"]


def test_rules_of_another_prefix_are_others(archive: Archive) -> None:
    """Two configurations in one bucket, each with its prefix, leave each other alone."""
    archive.apply()
    archive.apply({"ERROR": {"keep": "1 day"}}, prefix="other")
    assert archive.look().drift == []
    archive.apply({"ERROR": {}}, prefix="other")
    assert archive.look().drift == []
    assert set(archive.rules()) == {"toolog:calls/policy=info/", "toolog:calls/policy=error/"}


def test_a_rule_of_others_that_deletes_sooner_is_named(archive: Archive) -> None:
    """What would shorten a policy is told with its id; what deletes later is not."""
    expiring = {"Status": "Enabled", "Filter": {"Prefix": "calls/"}}
    archive.put_rules(
        [
            {"ID": "sooner", "Expiration": {"Days": 10}, **expiring},
            {"ID": "later", "Expiration": {"Days": 90}, **expiring},
            {"ID": "off", "Expiration": {"Days": 1}, **expiring, "Status": "Disabled"},
        ]
    )
    [sentence] = archive.look().foreign
    assert "shortened by the rule 'sooner'" in sentence
    assert "error" in sentence


def test_a_rule_of_others_that_deletes_sooner_is_drift(archive: Archive) -> None:
    """With all of our own rules in place, one that is not ours deletes sooner: that is not as the policies
    say, whatever its id begins with.
    """
    archive.apply()
    [ours, too] = archive.rules().values()
    theirs = {
        "ID": "toolog:everything",
        "Filter": {"Prefix": "calls/"},
        "Status": "Enabled",
        "Expiration": {"Days": 3},
    }
    archive.put_rules([ours, too, theirs])
    drift = archive.look().drift
    assert len(drift) == 2
    assert all("shortened by the rule 'toolog:everything'" in sentence for sentence in drift)
    assert archive.apply() == []
    assert "toolog:everything" in archive.rules()


def test_the_rule_of_a_policy_that_goes_elsewhere_is_named(archive: Archive) -> None:
    """A policy that no longer names this sink leaves its rule: another sink may write there. It is told."""
    archive.apply()
    policies = Policies.from_config(
        {"INFO": {"sinks": ["store"]}, "ERROR": {"sinks": ["archive"], "keep": "30 days"}},
        ["archive", "store"],
    )
    plan = expiry.look(expiry.make_target("archive", archive.options, policies), time.time())
    assert plan.drift == []
    [note] = plan.notes
    assert "toolog:calls/policy=info/" in note
    assert "goes on deleting" in note


def test_a_bucket_that_keeps_versions_is_named(archive: Archive) -> None:
    """With versions an expiry hides an object and does not delete it; no rule for that is added unasked."""
    enabled = {"Status": "Enabled"}
    archive.client.put_bucket_versioning(Bucket=archive.bucket, VersioningConfiguration=enabled)
    [note] = archive.look().notes
    assert "versions" in note
    archive.apply()
    assert all("NoncurrentVersionExpiration" not in rule for rule in archive.rules().values())


def test_the_server_deletes_by_our_rules(archive: Archive, seaweedfs: SeaweedFS) -> None:
    """Objects below a rule's prefix go when their time has come (here: a date of the past in place of the
    days), those of other policies and of others stay.
    """
    archive.apply()
    for key in ("calls/policy=info/date=2026-11-01/hour=00/a", "calls/policy=error/date=2026-11-01/hour=00/b",
                "calls/policy=information/c", "other/d"):  # fmt: skip
        archive.client.put_object(Bucket=archive.bucket, Key=key, Body=b"1")
    rules = archive.rules()
    yesterday = datetime.fromtimestamp(time.time() - 2 * 86_400, UTC).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    rules["toolog:calls/policy=info/"]["Expiration"] = {"Date": yesterday}
    archive.put_rules(list(rules.values()))
    seaweedfs.expire(5)
    assert archive.keys() == [
        "calls/policy=error/date=2026-11-01/hour=00/b", "calls/policy=information/c", "other/d",
    ]  # fmt: skip
    assert archive.look().drift == ["different: lifecycle rule toolog:calls/policy=info/"]


def test_bounds_are_whole_days_from_midnight(archive: Archive) -> None:
    """A record lives from its keep, rounded up to days, to a day more; without an end nobody says."""
    plan = archive.look({"INFO": {"keep": "36 hours"}, "ERROR": {}})
    found = {term.policy: (term.bounds.earliest, term.bounds.latest) for term in plan.terms}
    assert found == {"info": (2 * 86_400, 3 * 86_400), "error": (None, None)}


def test_an_unreachable_or_forbidding_server_is_said_plainly(archive: Archive, s3_proxy: S3Proxy) -> None:
    """Each trouble names the bucket and what to do, and nothing was changed."""
    s3_proxy.add(ACCESS_DENIED)
    assert "s3:PutLifecycleConfiguration" in archive.look(endpoint_url=s3_proxy.url).trouble
    assert "create the bucket" in archive.look(bucket="no-such-bucket-here").trouble
    assert "cannot be reached" in archive.look(endpoint_url="http://127.0.0.1:9").trouble
    assert archive.rules() == {}


def test_a_rule_id_of_a_long_prefix_fits(archive: Archive) -> None:
    """S3 takes ids of 255 characters; a longer prefix becomes a hash there, and is found again."""
    prefix = "long/" * 60
    archive.apply(prefix=prefix)
    assert all(len(name) <= 255 for name in archive.rules())
    assert archive.look(prefix=prefix).drift == []
    archive.apply({"ERROR": {}}, prefix=prefix)
    assert archive.rules() == {}


def test_a_wrong_option_is_told() -> None:
    """A misspelt option of the sink is a ConfigError here as it is for the sink."""
    with pytest.raises(ConfigError, match="did you mean 'bucket'"):
        expiry.make_target("archive", {"type": "s3", "buket": "b"}, Policies.from_config({}, ["archive"]))
