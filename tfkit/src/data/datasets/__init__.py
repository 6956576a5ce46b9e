"""Data sets for examples and tests."""
