"""Dtypes and dtype policies, the objects that a configuration may name, and conversions to data and back."""
