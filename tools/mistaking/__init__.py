"""Typical mistakes, and their tracebacks."""
