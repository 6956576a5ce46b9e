"""`ImageDataGenerator` of `tf.keras`: batches of images, each changed at random."""
