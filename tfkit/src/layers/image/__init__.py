"""Layers that change images: `base.py` says what they have in common."""
