"""Weights of layers as integers of 8 and 4 bits, and training in floats of 8 bits."""
