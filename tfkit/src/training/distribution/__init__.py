"""Keras's names for several devices: strategies of `tf.distribute`, or layouts for JAX."""
