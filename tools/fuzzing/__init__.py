"""Fuzzers of what tfkit reads: files of its own, sealed again, archives and files of Keras, indexes, states."""
