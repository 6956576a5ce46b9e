"""Short programs, in the shape of published examples: most of what people run is of this size.

Each is a function of a module with Keras's interface, and of `size`, which gives a number of rows (fewer of
them in a quick run). It runs 1 to 3 epochs of 10 to 200 steps, and returns a loss: a program that is fast
because it computes something else is seen by it. Nothing in a program says which framework it has.
"""

# Module by name of the function in it.
PROGRAMS = {
    "mlp_of_arrays": "vectors",
    "mlp_of_mapped_dataset": "vectors",
    "two_inputs_two_outputs": "vectors",
    "structured_data": "vectors",
    "regression_with_callbacks": "vectors",
    "save_load_predict": "vectors",
    "siamese": "vectors",
    "embedding_classifier": "text",
    "text_from_strings": "text",
    "attention_classifier": "text",
    "language_model": "text",
    "lstm": "sequences",
    "gru_encoder_decoder": "sequences",
    "bidirectional": "sequences",
    "series_from_array": "sequences",
    "cnn": "images",
    "resnet": "images",
    "augmentation": "images",
    "transfer": "images",
    "autoencoder": "images",
    "vae": "own_steps",
    "gan": "own_steps",
    "custom_loop": "own_steps",
}
