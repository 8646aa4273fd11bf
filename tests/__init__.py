"""The tests mirror the package: tests/<area>/ for toolog/<area>."""
