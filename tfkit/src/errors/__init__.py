"""Errors and warnings as users see them: which frames, which line, which words."""
