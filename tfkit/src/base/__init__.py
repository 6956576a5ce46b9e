"""What knows nothing of tensors: names, settings, nests of Python objects, limits, what belongs to one
thread.
"""
