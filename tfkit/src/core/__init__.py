"""`Layer`, and what happens when one is called."""
