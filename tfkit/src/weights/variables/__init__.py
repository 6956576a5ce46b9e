"""Variables: making, lending and copying them, and their operators."""
