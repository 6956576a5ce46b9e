"""Programs whose examples are images."""

import numpy as np


def pictures(rows, side, channels):
    """Returns noise with a bright square in one of four corners, and the number of the corner."""
    generator = np.random.default_rng(0)
    x = generator.random((rows, side, side, channels)).astype("float32")
    y = generator.integers(0, 4, rows)
    half = side // 2
    for image, label in zip(x, y, strict=True):
        top, left = half * (label // 2), half * (label % 2)
        image[top : top + half, left : left + half] += 0.5
    return x / 1.5, y


def cnn(keras, size):
    x, y = pictures(size(1280), 28, 1)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=2, validation_split=0.1, verbose=0)
    return model.evaluate(x, y, verbose=0)[0]


def resnet(keras, size):
    x, y = pictures(size(320), 32, 3)
    layers = keras.layers

    def convolve(h, filters, strides=1):
        h = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False)(h)
        return layers.BatchNormalization()(h)

    inputs = keras.Input((32, 32, 3))
    h = layers.ReLU()(convolve(layers.Rescaling(2.0, -1.0)(inputs), 16))
    for filters in (16, 32):
        shortcut = layers.Conv2D(filters, 1, 2)(h)
        h = convolve(layers.ReLU()(convolve(h, filters, 2)), filters)
        h = layers.ReLU()(layers.add([h, shortcut]))
    outputs = layers.Dense(4)(layers.GlobalAveragePooling2D()(h))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), loss, metrics=["accuracy"])
    return model.fit(x, y, epochs=2, verbose=0).history["loss"][-1]


def augmentation(keras, size):
    x, y = pictures(size(480), 32, 3)
    layers = keras.layers
    inputs = keras.Input((32, 32, 3))
    h = layers.RandomFlip("horizontal", seed=0)(inputs)
    h = layers.RandomRotation(0.05, seed=1)(h)
    h = layers.RandomZoom(0.1, seed=2)(h)
    for filters in (16, 32):
        h = layers.Conv2D(filters, 3, 2, padding="same", activation="relu")(h)
    h = layers.Dropout(0.3)(layers.GlobalAveragePooling2D()(h))
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(h))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model.fit(x, y, epochs=2, verbose=0).history["loss"][-1]


def transfer(keras, size):
    x, y = pictures(size(640), 32, 3)
    base = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(16, 3, 2, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Conv2D(32, 3, 2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    model = keras.Model(
        inputs, keras.layers.Dense(4, activation="softmax")(base(inputs, training=False))
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(x, y, epochs=2, verbose=0)
    base.trainable = True
    model.compile(keras.optimizers.Adam(0.0001), "sparse_categorical_crossentropy")
    return model.fit(x, y, epochs=1, verbose=0).history["loss"][-1]


def autoencoder(keras, size):
    x, _ = pictures(size(640), 28, 1)
    layers = keras.layers
    inputs = keras.Input((28, 28, 1))
    h = layers.Conv2D(16, 3, activation="relu", padding="same")(inputs)
    h = layers.MaxPooling2D(2, padding="same")(h)
    h = layers.Conv2D(8, 3, activation="relu", padding="same")(h)
    h = layers.MaxPooling2D(2, padding="same")(h)
    h = layers.Conv2DTranspose(8, 3, 2, activation="relu", padding="same")(h)
    h = layers.Conv2DTranspose(16, 3, 2, activation="relu", padding="same")(h)
    model = keras.Model(inputs, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(h))
    model.compile("adam", "binary_crossentropy")
    return model.fit(x, x, batch_size=64, epochs=2, shuffle=True, verbose=0).history["loss"][-1]
