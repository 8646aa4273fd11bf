"""The JSON Schema files."""
