"""Metrics, and which one a name means for given shapes."""
