"""Small helpers for users."""
