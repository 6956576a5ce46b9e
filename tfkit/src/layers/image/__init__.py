"""Layers that change images; `base.py` contains their common part."""
