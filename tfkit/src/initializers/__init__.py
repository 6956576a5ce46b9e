"""Initializers."""
