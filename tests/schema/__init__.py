"""Tests of the record schema."""
