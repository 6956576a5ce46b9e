"""tfkit: deep learning for TensorFlow alone."""
