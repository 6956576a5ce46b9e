"""Fuzzers of what tfkit reads: its own files, sealed again, those of Keras, indexes, states of trainings."""
