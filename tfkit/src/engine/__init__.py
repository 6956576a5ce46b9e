"""TensorFlow's programs: XLA, shared programs, random numbers, arrays as tensors, workarounds for kernels."""
