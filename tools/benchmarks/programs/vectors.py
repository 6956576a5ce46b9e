"""Programs whose examples are vectors."""

import os
import tempfile

import numpy as np
import tensorflow as tf


def classes(rows, features, count):
    """Returns random vectors, and for each the number of the nearest of some directions."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, features)).astype("float32")
    return x, np.argmax(x @ generator.normal(size=(features, count)), axis=1)


def mlp_of_arrays(keras, size):
    x, y = classes(size(6400), 20, 5)
    model = keras.Sequential(
        [
            keras.Input((20,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, batch_size=64, epochs=3, validation_split=0.2, verbose=0)
    return history.history["loss"][-1]


def mlp_of_mapped_dataset(keras, size):
    x, y = classes(size(3200), 30, 4)

    def prepare(row, label):
        return tf.clip_by_value(row, -2.0, 2.0) / 2.0, tf.one_hot(label, 4)

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare).shuffle(500, seed=0).batch(32)
    model = keras.Sequential(
        [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4, activation="softmax")]
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model.fit(dataset.prefetch(2), epochs=2, verbose=0).history["loss"][-1]


def two_inputs_two_outputs(keras, size):
    title, label = classes(size(1920), 24, 6)
    tags = np.random.default_rng(1).integers(0, 2, (len(title), 12)).astype("float32")
    first = keras.Input((24,), name="title")
    second = keras.Input((12,), name="tags")
    x = keras.layers.concatenate([keras.layers.Dense(32, activation="relu")(first), second])
    x = keras.layers.Dense(32, activation="relu")(x)
    priority = keras.layers.Dense(1, name="priority")(x)
    department = keras.layers.Dense(6, activation="softmax", name="department")(x)
    model = keras.Model([first, second], {"priority": priority, "department": department})
    model.compile(
        "rmsprop",
        {"priority": "mse", "department": "sparse_categorical_crossentropy"},
        metrics={"department": ["accuracy"]},
        loss_weights={"priority": 0.5, "department": 1.0},
    )
    history = model.fit(
        {"title": title, "tags": tags},
        {"priority": tags.sum(axis=1, keepdims=True), "department": label},
        epochs=2,
        verbose=0,
    )
    return history.history["loss"][-1]


def structured_data(keras, size):
    generator = np.random.default_rng(0)
    rows = size(1920)
    thal = generator.choice(["normal", "fixed", "reversible"], rows)
    vessels = generator.integers(0, 4, rows)
    age = generator.normal(54, 9, (rows, 1)).astype("float32")
    y = ((thal == "fixed") ^ (vessels > 1)).astype("float32")

    lookup = keras.layers.StringLookup(output_mode="one_hot")
    lookup.adapt(thal)
    normalization = keras.layers.Normalization()
    normalization.adapt(age)
    encoding = keras.layers.CategoryEncoding(num_tokens=4, output_mode="one_hot")

    def prepare(features, label):
        features["thal"] = lookup(features["thal"])
        return features, label

    features = {"thal": thal, "vessels": vessels, "age": age}
    dataset = tf.data.Dataset.from_tensor_slices((features, y)).batch(32).map(prepare)
    inputs = {
        "thal": keras.Input((4,), name="thal"),
        "vessels": keras.Input((1,), name="vessels", dtype="int64"),
        "age": keras.Input((1,), name="age"),
    }
    parts = [inputs["thal"], encoding(inputs["vessels"]), normalization(inputs["age"])]
    x = keras.layers.Dense(32, activation="relu")(keras.layers.concatenate(parts))
    x = keras.layers.Dropout(0.5)(x)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    expanded = dataset.map(lambda f, label: (f | {"vessels": f["vessels"][:, None]}, label))
    return model.fit(expanded, epochs=2, verbose=0).history["loss"][-1]


def regression_with_callbacks(keras, size):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(size(3200), 9)).astype("float32")
    y = (x[:, :3].sum(axis=1) + 0.1 * generator.normal(size=len(x))).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((9,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.RMSprop(0.001), "mse", metrics=["mae", "mse"])
    last = len(x) // 5
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [
            keras.callbacks.EarlyStopping("val_loss", patience=2),
            keras.callbacks.ReduceLROnPlateau("val_loss", patience=1),
            keras.callbacks.ModelCheckpoint(
                os.path.join(folder, "best.keras"), save_best_only=True
            ),
            keras.callbacks.CSVLogger(os.path.join(folder, "log.csv")),
        ]
        history = model.fit(
            x[:-last],
            y[:-last],
            validation_data=(x[-last:], y[-last:]),
            epochs=3,
            callbacks=callbacks,
            verbose=0,
        )
    return history.history["val_loss"][-1]


def save_load_predict(keras, size):
    x, y = classes(size(640), 20, 3)
    model = keras.Sequential(
        [
            keras.Input((20,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=1, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        loaded = keras.models.load_model(path)
    predicted = loaded.predict(x, verbose=0)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-5)
    return loaded.evaluate(x, y, verbose=0)[0]


def siamese(keras, size):
    x, y = classes(size(1280), 32, 4)
    other = np.random.default_rng(1).permutation(len(x))
    ops = keras.ops

    tower = keras.Sequential(
        [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(16, activation="tanh")]
    )
    first, second = keras.Input((32,)), keras.Input((32,))

    def distance(vectors):
        a, b = vectors
        squares = ops.sum(ops.square(a - b), axis=1, keepdims=True)
        return ops.sqrt(ops.maximum(squares, keras.config.epsilon()))

    merged = keras.layers.Lambda(distance, output_shape=(1,))([tower(first), tower(second)])
    merged = keras.layers.BatchNormalization()(merged)
    model = keras.Model([first, second], keras.layers.Dense(1, activation="sigmoid")(merged))

    def contrastive(y_true, y_pred):
        margin = ops.square(ops.maximum(1 - y_pred, 0))
        return ops.mean((1 - y_true) * ops.square(y_pred) + y_true * margin)

    model.compile("rmsprop", contrastive, metrics=["accuracy"])
    differ = (y != y[other]).astype("float32")[:, None]
    history = model.fit([x, x[other]], differ, batch_size=16, epochs=2, verbose=0)
    return history.history["loss"][-1]
