"""The networks that `in_jax` and `in_torch` compare, by the layers of tfkit or of Keras."""


def mlp(keras, layers):
    def block():
        return [layers.Dense(256, activation="gelu"), layers.LayerNormalization()]

    return keras.Sequential([*block(), *block(), layers.Dense(10)]), (64, 784)


def cnn(keras, layers):
    def convolution(filters):
        return [layers.Conv2D(filters, 3, activation="relu"), layers.MaxPooling2D()]

    parts = [*convolution(16), *convolution(32), layers.Flatten(), layers.Dense(10)]
    return keras.Sequential(parts), (32, 28, 28, 1)


def lstm(keras, layers):
    return keras.Sequential([layers.LSTM(64), layers.Dense(10)]), (32, 50, 32)


def transformer(keras, layers, blocks=1):
    x = inputs = keras.Input((32, 64))
    for _ in range(blocks):
        y = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
        z = layers.Dense(64)(layers.Dense(256, activation="gelu")(y))
        x = layers.LayerNormalization()(y + z)
    return keras.Model(inputs, x), (16, 32, 64)


NETWORKS = {"MLP": mlp, "CNN": cnn, "LSTM": lstm, "transformer": transformer}


def made(name, keras, layers):
    """Returns a network, and the shape of its input."""
    return NETWORKS[name](keras, layers)
