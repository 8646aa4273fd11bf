"""Tests of bytes out and in."""
