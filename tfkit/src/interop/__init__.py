"""Keras's files, and which format a file has."""
