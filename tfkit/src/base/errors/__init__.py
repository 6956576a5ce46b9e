"""Errors and warnings for users: their frames, lines and messages."""
