"""Saving."""
