"""TensorFlow's programs: XLA, programs that are shared, random numbers, arrays as tensors, the kernels
that are wrong and the ways around them.
"""
