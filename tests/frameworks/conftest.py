"""The contract's asserts tell as much as those of a test module."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.frameworks.contract")
