"""The fixtures of these tests."""

from tests.sinks.s3.bucket import archive, read_models_once

__all__ = ["archive", "read_models_once"]
