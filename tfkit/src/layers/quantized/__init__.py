"""Weights of layers as 8-bit and 4-bit integers, and training in 8-bit floats."""
