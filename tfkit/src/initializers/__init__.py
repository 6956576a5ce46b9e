"""First values of weights."""
