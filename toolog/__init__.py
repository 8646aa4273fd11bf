"""toolog."""
