"""Layers that turn raw data into numbers: normalization, bins, hashes, vocabularies, text."""
