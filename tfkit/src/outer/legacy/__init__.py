"""Names that `tf.keras` has and Keras 3 lacks, for older programs: `K.mean`, `Tokenizer`, ..."""
