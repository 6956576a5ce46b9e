"""Which classes, functions and dtypes configurations may name."""
