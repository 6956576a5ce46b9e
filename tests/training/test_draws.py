"""The global generators, and the orders of data, are those of Keras after each call."""

import random
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.arange(10, dtype="float32")[:, None]


def model_of(library, seen):
    """A model that notes the rows of each batch, and computes next to nothing."""

    class Noting(library.Model):
        def __init__(self):
            super().__init__()
            self.scale = self.add_weight(shape=())

        def call(self, x):
            return x * self.scale

        def train_step(self, data):
            seen.append([int(value) for value in data[0][:, 0]])
            return {"loss": tf.constant(0.0)}

        test_step = train_step

    model = Noting()
    model.compile("sgd", "mse", run_eagerly=True)
    return model


def pairs(library, seen, **options):
    """Five batches of two rows, which the data set shuffles itself after each epoch."""

    class Pairs(library.utils.PyDataset):
        def __init__(self):
            super().__init__(**options)
            self.order = np.arange(5)

        def __len__(self):
            return 5

        def __getitem__(self, index):
            rows = slice(2 * self.order[index], 2 * self.order[index] + 2)
            return X[rows], X[rows]

        def on_epoch_begin(self):
            seen.append("begin")

        def on_epoch_end(self):
            seen.append("end")
            np.random.shuffle(self.order)

    return Pairs()


def slices(is_known=True):
    data = tf.data.Dataset.from_tensor_slices((X, X)).shuffle(10, seed=1)
    return (data if is_known else data.filter(lambda x, y: True)).batch(5)


def mapped():
    return slices().map(lambda x, y: (x, y))


def unseeded():
    return tf.data.Dataset.from_tensor_slices((X, X)).shuffle(10).batch(5)


def folded(library, seen):
    """A split of a list, a series, and layers of all kinds."""
    layers = library.layers
    for options in ({}, {"shuffle": True}, {"shuffle": True, "seed": 4}):
        library.utils.split_dataset(X, left_size=0.5, **options)
    library.utils.timeseries_dataset_from_array(X, X, 3, shuffle=True)
    library.Sequential([library.Input((1,)), layers.Dense(2), layers.Dropout(0.1)])
    layers.Dense(2, kernel_initializer=library.initializers.RandomNormal())
    layers.RandomCrop(2, 2), layers.RandomFlip(), layers.MixUp(), layers.RandAugment()
    layers.LSTM(2, dropout=0.1), layers.MultiHeadAttention(1, 2, dropout=0.1)


def fitted(data, fits=2, **options):
    def call(library, seen):
        model = model_of(library, seen)
        given = data() if callable(data) else data
        for _ in range(fits):
            model.fit(given, epochs=3, verbose=0, **{"shuffle": False, **options})

    return call


def fitted_pairs(shuffle=True, **options):
    def call(library, seen):
        model, data = model_of(library, seen), pairs(library, seen, **options)
        for _ in range(2):
            model.fit(data, epochs=3, verbose=0, shuffle=shuffle)

    return call


def validated(library, seen):
    model = model_of(library, seen)
    model.fit(pairs(library, seen), validation_data=pairs(library, seen), epochs=2, verbose=0)


def evaluated(library, seen):
    model = model_of(library, seen)
    model.evaluate(pairs(library, seen), verbose=0)
    model.predict(pairs(library, seen), verbose=0)
    model.evaluate(X, X, verbose=0)
    model.predict(X, verbose=0)
    model.train_on_batch(X, X)


def validated_by_slices(library, seen):
    model = model_of(library, seen)
    model.fit(X[:2], X[:2], validation_data=slices(), epochs=3, verbose=0, shuffle=False)


CASES = {
    "PyDataset": fitted_pairs(),
    "PyDataset, two workers": fitted_pairs(workers=2),
    "PyDataset, none": fitted_pairs(workers=0),
    "PyDataset in order": fitted_pairs(shuffle=False),
    "validation by a PyDataset": validated,
    "evaluate, predict": evaluated,
    "slices": fitted(slices),
    "mapped": fitted(mapped),
    "unseeded": fitted(unseeded),
    "unknown length": fitted(lambda: slices(is_known=False)),
    "slices, epochs of one step": fitted(slices, steps_per_epoch=1),
    "slices, epochs of two steps": fitted(slices, steps_per_epoch=2),
    "mapped, epochs of two steps": fitted(mapped, steps_per_epoch=2),
    "validation by slices": validated_by_slices,
    "functions and layers": folded,
    "arrays in order": fitted(X, y=X, batch_size=4),
}


def outcome(call, library):
    library.utils.set_random_seed(3)
    seen = []
    with warnings.catch_warnings():
        if library is keras:  # It warns at the end of data whose length it does not know.
            warnings.filterwarnings("ignore", "Your input ran out of data")
        call(library, seen)
    return seen, random.random(), np.random.rand(), float(tf.random.uniform([]))


@pytest.mark.parametrize("name", CASES)
def test_orders_and_generators_are_those_of_keras(name):
    assert outcome(CASES[name], tfkit) == outcome(CASES[name], keras)


@pytest.mark.parametrize("shuffle", [True, "batch"])
@pytest.mark.parametrize("options", [{}, {"validation_split": 0.2}])
def test_shuffled_arrays_move_no_generator(shuffle, options):
    call = fitted(X, y=X, batch_size=2, shuffle=shuffle, **options)
    seen, *states = outcome(call, tfkit)
    again, *_ = outcome(call, tfkit)
    assert seen == again
    assert states == [*outcome(call, keras)[1:]]
    passes = [seen[start : start + 5] for start in range(0, len(seen), 5)]
    if not options:  # Unlike in Keras, where each epoch, and each fit, has the order of the first.
        assert len({str(each) for each in passes}) == 6


def test_ragged_rows_move_no_generator():
    rows = tf.ragged.constant([[1.0], [2.0, 3.0], [4.0], [5.0]])
    states = []
    for shuffle in (True, False):
        tfkit.utils.set_random_seed(3)
        model = model_of(tfkit, [])
        model.train_step = lambda data: {"loss": tf.constant(0.0)}
        model.fit(rows, np.zeros((4, 1)), batch_size=2, verbose=0, shuffle=shuffle)
        states.append((random.random(), np.random.rand(), float(tf.random.uniform([]))))
    assert states[0] == states[1]


# --- Two published programs, small ----------------------------------------------------------------------


def classifier_of_images(library):
    """Of the example of a compact convolutional transformer: crops that keep all, and stochastic depth."""
    layers = library.layers

    class StochasticDepth(layers.Layer):
        def __init__(self, rate):
            super().__init__()
            self.keep = 1 - rate
            self.seed_generator = library.random.SeedGenerator(1337)

        def call(self, x, training=None):
            if not training:
                return x
            shape = (tf.shape(x)[0], 1, 1)
            drawn = library.random.uniform(shape, 0, 1, seed=self.seed_generator)
            return x / self.keep * tf.floor(self.keep + drawn)

    inputs = layers.Input((6, 6, 3))
    augmentation = [layers.Rescaling(1 / 255), layers.RandomCrop(6, 6), layers.RandomFlip()]
    x = layers.Reshape((36, 3))(library.Sequential(augmentation)(inputs))
    attended = layers.MultiHeadAttention(1, 3, dropout=0.1)(x, x)
    x = layers.Add()([StochasticDepth(0.2)(attended), x])
    x = layers.Dropout(0.1)(layers.Dense(4, activation="gelu")(x))
    model = library.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))
    images = np.random.RandomState(0).randint(0, 256, (9, 6, 6, 3)).astype("float32")
    classes = np.arange(9) % 2
    loss = library.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=True)
    data = {"x": images, "y": classes, "batch_size": 3}
    return model, {**data, "validation_data": (images, classes)}


def classifier_of_tables(library):
    table = {
        "age": np.random.RandomState(0).rand(24).astype("float32"),
        "sex": np.arange(24) % 2,
        "thal": np.array(["fixed", "normal", "reversible"] * 8),
    }
    data = tf.data.Dataset.from_tensor_slices((table, np.arange(24) % 2)).shuffle(24).batch(8)
    space = library.utils.FeatureSpace
    space = space(
        features={
            "age": space.float_normalized(),
            "sex": space.integer_categorical(num_oov_indices=0),
            "thal": space.string_categorical(num_oov_indices=0),
        },
        crosses=[("sex", "thal")],
        crossing_dim=4,
        output_mode="concat",
    )
    space.adapt(data.map(lambda x, y: x))
    encoded = space.get_encoded_features()
    x = library.layers.Dropout(0.5)(library.layers.Dense(4, activation="relu")(encoded))
    model = library.Model(encoded, library.layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", run_eagerly=True)
    return model, {"x": data.map(lambda x, y: (space(x), y))}


@pytest.mark.parametrize("program", [classifier_of_images, classifier_of_tables])
def test_a_published_program_ends_where_keras_ends(program):
    losses, states = [], []
    for library in (keras, tfkit):
        library.utils.set_random_seed(5)
        model, data = program(library)
        losses.append(model.fit(epochs=2, verbose=0, shuffle=False, **data).history)
        states.append((random.random(), np.random.rand(), float(tf.random.uniform([]))))
    assert states[0] == states[1]
    for name, expected in losses[0].items():
        np.testing.assert_allclose(losses[1][name], expected, rtol=2e-6)


@pytest.mark.parametrize("size", [(6, 6), (6, 7), (7, 6), (9, 9), (4, 9), (9, 4), (4, 4)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_a_random_crop_draws_where_keras_does(size, training):
    """For both sides if both are larger, otherwise for none."""
    images = np.random.RandomState(0).rand(2, *size, 3).astype("float32")
    ours, theirs = (module.layers.RandomCrop(6, 6, seed=1) for module in (tfkit, keras))
    found, expected = (layer(images, training=training) for layer in (ours, theirs))
    assert ours.generator.state[1] == int(theirs.generator.state[1])
    if training and min(size) >= 6:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_random_crop_of_unknown_sizes_draws_where_one_of_known_sizes_does(jit_compile):
    layer, known = (tfkit.layers.RandomCrop(4, 4, seed=1) for _ in range(2))
    spec = tf.TensorSpec((2, None, None, 3))
    options = {"input_signature": [spec], "autograph": False, "jit_compile": jit_compile}
    program = tf.function(lambda images: layer(images, training=True), **options)
    for size, draws in (
        ((4, 4), 0),
        ((6, 6), 2),
        ((3, 6), 2),
        ((4, 7), 2),
        ((7, 4), 2),
        ((5, 5), 4),
    ):
        images = np.random.RandomState(0).rand(2, *size, 3).astype("float32")
        np.testing.assert_allclose(program(images), known(images, training=True), rtol=1e-5)
        assert layer.generator.state[1] == known.generator.state[1] == draws
