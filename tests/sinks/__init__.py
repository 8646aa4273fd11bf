"""Tests of toolog.sinks."""
