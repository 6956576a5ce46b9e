"""Names that `tf.keras` has and Keras 3 has not, for older programs: `K.mean`, `Tokenizer`, ..."""
