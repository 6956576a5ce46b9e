"""Recurrent layers: cells, the loops over time that run them, and the layers that users call."""
