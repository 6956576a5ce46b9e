"""Initial values of weights."""
