"""Code without tensors: names, settings, nests of Python objects, limits, thread-local state."""
