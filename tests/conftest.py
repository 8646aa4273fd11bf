"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says something about the machine, which may be busy, and nothing about a law.
settings.register_profile("toolog", deadline=None)
settings.load_profile("toolog")

# Real servers, see tests/services/fixtures.py.
pytest_plugins = ["tests.services.fixtures"]
