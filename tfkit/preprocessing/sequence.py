"""Sequences of different lengths as one array."""

from tfkit.utils.sequences import pad_sequences as pad_sequences
