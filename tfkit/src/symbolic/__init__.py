"""Tensors without values, the record of calls on them, and masks."""
