"""`fit`, `evaluate`, `predict`: data, steps, programs, loops, callbacks."""
