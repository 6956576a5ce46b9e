"""Compares ops and layers of the tests' tables with float64, with and without oneDNN: see `./tools/sweep`."""
