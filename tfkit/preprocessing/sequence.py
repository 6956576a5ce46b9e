"""Sequences of different lengths as one array."""

from tfkit.src.utils.sequences import pad_sequences as pad_sequences
