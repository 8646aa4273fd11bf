"""Tests of values as plain data."""
