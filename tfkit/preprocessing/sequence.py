"""Combines sequences of different lengths into one array; makes windows of series, and pairs of words."""

from tfkit.src.data.utils.sequences import pad_sequences as pad_sequences
from tfkit.src.outer.legacy.sequences import TimeseriesGenerator as TimeseriesGenerator
from tfkit.src.outer.legacy.sequences import make_sampling_table as make_sampling_table
from tfkit.src.outer.legacy.sequences import skipgrams as skipgrams
