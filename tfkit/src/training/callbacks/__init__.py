"""Callbacks, one to a file; `tfkit.callbacks` lists them."""
