"""Fuzzers of tfkit's readers: its own files, sealed again, Keras's files, indexes, states of trainings."""
