"""Errors and warnings as users see them."""
