"""Names that `tf.keras` has beside those of Keras 3, for older programs: `K.mean`, `Tokenizer`, ..."""
