"""Tensors without values, and what is attached to tensors."""
