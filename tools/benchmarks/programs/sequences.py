"""Programs whose examples are sequences of numbers."""

import numpy as np


def waves(rows, steps, features):
    generator = np.random.default_rng(0)
    phases = generator.random((rows, 1, features)) * 2 * np.pi
    x = np.sin(np.arange(steps)[None, :, None] / 5 + phases)
    return (x + 0.1 * generator.normal(size=x.shape)).astype("float32")


def lstm(keras, size):
    x = waves(size(640), 30, 4)
    model = keras.Sequential([keras.Input((29, 4)), keras.layers.LSTM(32), keras.layers.Dense(4)])
    model.compile(keras.optimizers.Adam(0.003), "mse")
    return model.fit(x[:, :-1], x[:, -1], epochs=2, verbose=0).history["loss"][-1]


def gru_encoder_decoder(keras, size):
    generator = np.random.default_rng(0)
    source = generator.integers(1, 30, (size(640), 12))
    target = np.concatenate([np.zeros((len(source), 1), int), source[:, ::-1]], axis=1)
    encoder_inputs = keras.Input((None,), dtype="int64")
    x = keras.layers.Embedding(30, 32, mask_zero=True)(encoder_inputs)
    _, state = keras.layers.GRU(64, return_state=True)(x)
    decoder_inputs = keras.Input((None,), dtype="int64")
    x = keras.layers.Embedding(30, 32)(decoder_inputs)
    x = keras.layers.GRU(64, return_sequences=True)(x, initial_state=state)
    model = keras.Model(
        [encoder_inputs, decoder_inputs], keras.layers.Dense(30, activation="softmax")(x)
    )
    model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit([source, target[:, :-1]], target[:, 1:], epochs=2, verbose=0)
    return history.history["loss"][-1]


def bidirectional(keras, size):
    generator = np.random.default_rng(0)
    x = generator.integers(1, 500, (size(320), 40))
    y = (x[:, 0] > x[:, -1]).astype("int32")
    inputs = keras.Input((None,), dtype="int32")
    h = keras.layers.Embedding(500, 32)(inputs)
    h = keras.layers.Bidirectional(keras.layers.LSTM(32, return_sequences=True))(h)
    h = keras.layers.Bidirectional(keras.layers.LSTM(32))(h)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(h))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model.fit(x, y, epochs=2, verbose=0).history["loss"][-1]


def series_from_array(keras, size):
    series = waves(1, size(3200), 3)[0]
    windows = keras.utils.timeseries_dataset_from_array(
        series[:-24], series[24:, :1], sequence_length=24, batch_size=32
    )
    model = keras.Sequential(
        [
            keras.Input((24, 3)),
            keras.layers.Conv1D(32, 5, padding="causal", activation="relu"),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "huber", metrics=["mae"])
    return model.fit(windows, epochs=2, verbose=0).history["loss"][-1]
