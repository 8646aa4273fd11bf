"""Fidelity: an instrumented package cannot tell that it is watched.

The own test suites of third-party packages run with the package instrumented and without, and must come out
the same, test by test. `packages` is the table, `environments` makes what they need on demand, `comparison`
runs and compares, `plugin/` is what instruments inside of a suite's pytest. ``make fidelity`` runs them all.
"""
