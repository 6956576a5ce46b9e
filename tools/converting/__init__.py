"""Compares ops and layers of the tests' tables with their conversions to JAX and PyTorch: see `./tools/conversions`."""
