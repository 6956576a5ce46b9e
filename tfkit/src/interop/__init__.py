"""Interop."""
