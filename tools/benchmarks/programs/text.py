"""Programs whose examples are sequences of tokens."""

import numpy as np
import tensorflow as tf

WORDS = 2000


def reviews(rows, length):
    """Tokens, and which half of the words most of them are from."""
    generator = np.random.default_rng(0)
    share = generator.random((rows, 1))
    x = generator.integers(2, WORDS // 2, (rows, length))
    x += (generator.random((rows, length)) < share) * (WORDS // 2 - 2)
    return x.astype("int32"), (share[:, 0] > 0.5).astype("int32")


def embedding_classifier(keras, size):
    x, y = reviews(size(1920), 80)
    model = keras.Sequential(
        [
            keras.layers.Embedding(WORDS, 16),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model.fit(x, y, epochs=3, verbose=0).history["loss"][-1]


def text_from_strings(keras, size):
    x, y = reviews(size(960), 40)
    texts = [" ".join(f"word{token}" for token in row) for row in x]
    vectorization = keras.layers.TextVectorization(max_tokens=WORDS, output_sequence_length=40)
    dataset = tf.data.Dataset.from_tensor_slices((texts, y)).batch(32)
    vectorization.adapt(dataset.map(lambda text, label: text))
    dataset = dataset.map(lambda text, label: (vectorization(text), label)).cache().prefetch(2)
    inputs = keras.Input((None,), dtype="int64")
    h = keras.layers.Dropout(0.5)(keras.layers.Embedding(WORDS, 32)(inputs))
    h = keras.layers.Conv1D(32, 7, padding="valid", activation="relu", strides=3)(h)
    h = keras.layers.GlobalMaxPooling1D()(h)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(h))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model.fit(dataset, epochs=2, verbose=0).history["loss"][-1]


def layers_of(keras):
    """Returns a block of a transformer, and embeddings of tokens and positions, as layers of a user's."""
    layers, ops = keras.layers, keras.ops

    class Block(layers.Layer):
        def __init__(self, width, heads, hidden, is_causal):
            super().__init__()
            self.is_causal = is_causal
            self.attention = layers.MultiHeadAttention(heads, width // heads)
            self.feed_forward = keras.Sequential(
                [layers.Dense(hidden, activation="relu"), layers.Dense(width)]
            )
            self.norm_1, self.norm_2 = layers.LayerNormalization(), layers.LayerNormalization()
            self.dropout_1, self.dropout_2 = layers.Dropout(0.1), layers.Dropout(0.1)

        def call(self, inputs):
            attended = self.attention(inputs, inputs, use_causal_mask=self.is_causal)
            first = self.norm_1(inputs + self.dropout_1(attended))
            return self.norm_2(first + self.dropout_2(self.feed_forward(first)))

    class Tokens(layers.Layer):
        def __init__(self, length, width):
            super().__init__()
            self.tokens = layers.Embedding(WORDS, width)
            self.positions = layers.Embedding(length, width)

        def call(self, inputs):
            return self.tokens(inputs) + self.positions(ops.arange(ops.shape(inputs)[-1]))

    return Block, Tokens


def attention_classifier(keras, size):
    x, y = reviews(size(640), 60)
    block, tokens = layers_of(keras)
    inputs = keras.Input((60,), dtype="int32")
    h = block(32, 2, 32, False)(tokens(60, 32)(inputs))
    h = keras.layers.Dropout(0.1)(keras.layers.GlobalAveragePooling1D()(h))
    h = keras.layers.Dense(20, activation="relu")(h)
    model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(h))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model.fit(x, y, batch_size=32, epochs=2, verbose=0).history["loss"][-1]


def language_model(keras, size):
    x, _ = reviews(size(320), 41)
    block, tokens = layers_of(keras)
    inputs = keras.Input((None,), dtype="int32")
    h = block(64, 4, 128, True)(tokens(40, 64)(inputs))
    h = block(64, 4, 128, True)(h)
    model = keras.Model(inputs, keras.layers.Dense(WORDS)(h))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    dataset = tf.data.Dataset.from_tensor_slices(x).batch(16, drop_remainder=True)
    dataset = dataset.map(lambda rows: (rows[:, :-1], rows[:, 1:])).prefetch(2)
    return model.fit(dataset, epochs=1, verbose=0).history["loss"][-1]
