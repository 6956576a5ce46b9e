"""Compares ops and layers of the tests' tables, with and without oneDNN, with float64: see `./tools/sweep`."""
