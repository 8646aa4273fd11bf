"""Tests of toolog.store."""
