"""Converted calls in JAX."""
