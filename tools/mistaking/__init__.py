"""Typical mistakes, and what their tracebacks look like."""
