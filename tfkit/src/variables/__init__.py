"""Variables, and copies of what holds them."""
