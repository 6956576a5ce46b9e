"""Compares ops and layers with their conversions to JAX and PyTorch: see `./tools/conversions`."""
