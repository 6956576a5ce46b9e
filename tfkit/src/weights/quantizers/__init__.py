"""Quantizers: floats as small integers, or as 8-bit floats, and back."""
