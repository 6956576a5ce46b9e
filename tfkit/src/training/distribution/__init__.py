"""Keras's names for data parallelism, on strategies of `tf.distribute`."""
