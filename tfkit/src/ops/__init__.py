"""`keras.ops`: functions of tensors."""
