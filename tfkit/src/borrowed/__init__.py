"""Imports TensorFlow without the Keras that it would load."""
