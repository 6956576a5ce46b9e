"""TensorFlow's programs: what compiles and runs them, and where its kernels are wrong."""
