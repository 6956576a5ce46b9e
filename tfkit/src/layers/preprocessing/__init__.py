"""Layers that convert raw data to numbers: normalization, bins, hashes, vocabularies, text."""
