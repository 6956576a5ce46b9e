"""Combines sequences of different lengths into one array."""

from tfkit.src.utils.sequences import pad_sequences as pad_sequences
