"""Quantizers: floats as small integers, or as floats of 8 bits, and back."""
