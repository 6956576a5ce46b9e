"""Keras's files, and the formats of files."""
