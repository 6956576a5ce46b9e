"""Wrappers."""
