"""Tests of toolog.report."""
