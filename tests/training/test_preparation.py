"""Work on strings runs ahead of the step, with the same numbers as within it."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.training import array_program, iterator_program, preparation

layers = tfkit.layers
TEXTS = np.array([["a b c"], ["b, C d"], ["e"], ["f a a a"], ["b"]] * 5)
LABELS = np.arange(25.0).astype("float32") / 25


@pytest.fixture(autouse=True)
def in_short_passes(monkeypatch):
    monkeypatch.setattr(preparation, "_FEWEST", 0)


@pytest.fixture
def within(monkeypatch):
    """A function that turns preparation off: all of a step runs in its place."""

    def turn_off():
        for module in (array_program, iterator_program):
            monkeypatch.setattr(module, "without_strings", lambda trace, strict: trace)

    return turn_off


class Subclassed(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.words = layers.TextVectorization(output_sequence_length=4, vocabulary=list("abcde"))
        self.kinds = layers.StringLookup(vocabulary=["u", "v"], output_mode="one_hot")
        self.embedding = layers.Embedding(20, 3, mask_zero=True)
        self.recurrent = layers.LSTM(3)
        self.dropout = layers.Dropout(0.5)
        self.dense = layers.Dense(1)

    def call(self, inputs, training=False):
        read = self.recurrent(self.embedding(self.words(inputs["text"])))
        joined = tf.concat([read, self.kinds(inputs["kind"]), inputs["number"]], axis=-1)
        return self.dense(self.dropout(joined, training=training))


def functional(*made, embeds=True):
    def make():
        x = tfkit.Input((1,), dtype="string")
        y = x
        for make_layer in made:
            y = make_layer()(y)
        if embeds:
            y = layers.Flatten()(layers.Embedding(30, 3)(y))
        return tfkit.Model(x, layers.Dense(1)(y))

    return make


def texts(**options):
    return lambda: layers.TextVectorization(vocabulary=list("abcd"), **options)


class Split(layers.Layer):
    """A user's layer; its traces do not tell the number of rows."""

    def call(self, inputs):
        tokens = tf.strings.split(tf.strings.lower(inputs[:, 0]))
        return tf.strings.to_hash_bucket_fast(tokens, 30).to_tensor(shape=[None, 4])


RECORDS = {
    "text": TEXTS[:, 0],
    "kind": np.array([["u"], ["v"], ["w"], ["u"], ["u"]] * 5),
    "number": LABELS[:, None],
}
# By name: the model, its inputs, and the kind of program.
CASES = {
    "texts": (functional(texts(output_sequence_length=4)), TEXTS, "XLA loop"),
    "characters": (
        functional(texts(output_sequence_length=4, split="character")),
        TEXTS,
        "XLA step",
    ),
    "pairs of words": (functional(texts(output_sequence_length=4, ngrams=2)), TEXTS, "XLA loop"),
    "counts": (functional(texts(output_mode="count"), embeds=False), TEXTS, "XLA step"),
    "hashes": (functional(lambda: layers.Hashing(30)), TEXTS, "XLA loop"),
    "two layers": (
        functional(
            lambda: layers.StringLookup(vocabulary=["e", "b"], num_oov_indices=3),
            lambda: layers.StringLookup(vocabulary=["e", "b"], invert=True),
            lambda: layers.Hashing(30),
        ),
        TEXTS,
        "XLA loop",
    ),
    "a user's layer": (functional(Split), TEXTS, "graph loop"),
    "records": (Subclassed, RECORDS, "XLA loop"),
}
SOURCES = {
    "arrays": lambda x: {"x": x, "y": LABELS, "batch_size": 4},
    "slices": lambda x: {
        "x": tf.data.Dataset.from_tensor_slices((x, LABELS)).shuffle(9, seed=1).batch(4)
    },
    "dataset": lambda x: {
        "x": tf.data.Dataset.from_tensor_slices((x, LABELS))
        .map(lambda *row: row)
        .shuffle(9, seed=1)
        .batch(4)
    },
    "generator": lambda x: {
        "x": (
            tf.nest.map_structure(lambda leaf, rows=slice(i, i + 4): leaf[rows], (x, LABELS))
            for _ in range(2)
            for i in range(0, 25, 4)
        ),
        "steps_per_epoch": 7,
    },
}


def trained(make, data, **options):
    """The model and its losses; `data` are the arguments of `fit`, or make them."""
    # Before the data are made: a dataset that shuffles takes the seed when it is made.
    tfkit.utils.set_random_seed(3)
    if callable(data):
        data = data()
    model = make()
    model.compile("adam", "mse", **options)
    losses = model.fit(**data, epochs=2, verbose=0).history["loss"]
    return model, losses


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("case", ["texts", "records"])
def test_each_source_gives_the_losses_of_whole_steps(case, source, within):
    make, x, _ = CASES[case]
    model, ahead = trained(make, lambda: SOURCES[source](x), jit_compile=False)
    assert "prepared ahead" in str(model.plan)
    within()
    whole, expected = trained(make, lambda: SOURCES[source](x), jit_compile=False)
    assert "prepared ahead" not in str(whole.plan)
    # Neither is compiled: the same kernels run in the same order.
    assert ahead == expected
    for weight, other in zip(model.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, other)


@pytest.mark.parametrize("case", CASES)
def test_the_rest_of_the_step_is_compiled(case, within):
    make, x, kind = CASES[case]
    data = {"x": x, "y": LABELS, "batch_size": 4}
    model, ahead = trained(make, data)
    assert str(model.plan).startswith(f"train: {kind}")
    assert "prepared ahead" in str(model.plan)
    within()
    _, expected = trained(make, data)
    np.testing.assert_allclose(ahead, expected, rtol=1e-5)


class Sizes(layers.Layer):
    """Looks up words in tensors whose first axis is not that of the rows."""

    WAYS = {
        "flat": lambda x: tf.reshape(x, [-1]),
        "twice": lambda x: tf.concat([x, x[::-1]], 0),
        "some": lambda x: x[:4],
        "without the first": lambda x: x[1:],
        "half": lambda x: x[: tf.shape(x)[0] // 2],
        "as many as a tried number of rows": lambda x: tf.tile(x, [1, 7919]),
    }

    def __init__(self, way):
        super().__init__()
        self.way = self.WAYS[way]
        self.lookup = layers.StringLookup(vocabulary=[text for (text,) in TEXTS[:5].tolist()])
        self.kernel = self.add_weight(shape=(6,), initializer=tf.range)

    def call(self, x):
        found = tf.gather(self.kernel, self.lookup(self.way(x)))
        count = tf.cast(tf.reduce_prod(tf.shape(found)), "float32")
        return (
            tf.zeros([tf.shape(x)[0], 1]) + tf.reduce_mean(found * tf.ones(tf.shape(found))) / count
        )


@pytest.mark.parametrize("way", Sizes.WAYS)
def test_any_first_size_of_looked_up_words_is_computed(way, within):
    x = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(4)
    model, ahead = trained(functional(lambda: Sizes(way), embeds=False), {"x": x})
    assert "prepared ahead" in str(model.plan)
    within()
    _, expected = trained(functional(lambda: Sizes(way), embeds=False), {"x": x})
    np.testing.assert_allclose(ahead, expected, rtol=1e-5)


def test_parts_of_ragged_words_have_sizes_of_their_own(within):
    words = tf.ragged.constant([text.split() for (text,) in TEXTS.tolist()])
    x = tf.data.Dataset.from_tensor_slices((words, LABELS)).batch(4)

    class Ragged(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.lookup = layers.StringLookup(vocabulary=list("abcd"))
            self.embedding = layers.Embedding(6, 1)

        def call(self, x):
            ids = self.lookup(x.flat_values)
            found = self.embedding(ids) * tf.ones(tf.shape(ids))[:, None]
            return tf.math.segment_sum(found, x.value_rowids()) / tf.cast(tf.size(ids), "float32")

    model, ahead = trained(Ragged, {"x": x}, jit_compile=False)
    assert "prepared ahead" in str(model.plan)
    within()
    assert trained(Ragged, {"x": x}, jit_compile=False)[1] == ahead


def test_short_passes_are_prepared_without_a_stage(monkeypatch):
    make, x, _ = CASES["records"]
    for source in ("arrays", "dataset"):
        monkeypatch.setattr(preparation, "_FEWEST", 0)
        _, ahead = trained(make, lambda source=source: SOURCES[source](x))
        monkeypatch.setattr(preparation, "_FEWEST", 8)
        monkeypatch.setattr(preparation.Preparation, "ahead", None)
        assert trained(make, lambda source=source: SOURCES[source](x))[1] == ahead
        monkeypatch.undo()


def test_required_compilation_is_possible():
    make, x, _ = CASES["texts"]
    model, _ = trained(make, SOURCES["arrays"](x), jit_compile=True)
    assert str(model.plan).startswith("train: XLA loop")


def test_evaluation_and_validation():
    make, x, _ = CASES["texts"]
    model, _ = trained(make, SOURCES["arrays"](x))
    expected = float(np.mean((model.predict(x, verbose=0)[:, 0] - LABELS) ** 2))
    assert model.evaluate(x, LABELS, batch_size=4, verbose=0) == pytest.approx(expected, rel=1e-5)
    history = model.fit(x, LABELS, validation_data=(x, LABELS), verbose=0).history
    expected = float(np.mean((model.predict(x, verbose=0)[:, 0] - LABELS) ** 2))
    assert history["val_loss"][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("jit_compile", ["auto", False])
def test_single_batches(jit_compile, within):
    def losses():
        tfkit.utils.set_random_seed(3)
        make, x, _ = CASES["texts"]
        model = make()
        model.compile("adam", "mse", jit_compile=jit_compile)
        rows = [slice(0, 10), slice(10, 20), slice(20, 25)]
        return [
            [model.train_on_batch(x[i], LABELS[i]), model.test_on_batch(x[i], LABELS[i])]
            for i in rows
        ]

    ahead = losses()
    within()
    np.testing.assert_allclose(ahead, losses(), rtol=1e-5)


@pytest.mark.parametrize("source", ["arrays", "dataset"])
@pytest.mark.parametrize("jit_compile", ["auto", False])
def test_a_refused_string_names_its_layer_and_its_step(source, jit_compile):
    known = functional(
        lambda: layers.StringLookup(vocabulary=["k"], num_oov_indices=0, name="known")
    )
    good = np.full((24, 1), "k")
    bad = good.copy()
    bad[17] = "x"

    def fit(x, rows):
        tfkit.utils.set_random_seed(0)
        model = known()
        model.compile("sgd", "mse", jit_compile=jit_compile)
        x, y = x[:rows], LABELS[:rows]
        try:
            if source == "arrays":
                model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
            else:
                rows = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda *row: row)
                model.fit(rows.batch(4), verbose=0)
        finally:
            weights.append(model.get_weights()[-1])

    weights = []
    with pytest.raises(tf.errors.InvalidArgumentError) as refused:
        fit(bad, 24)
    message = str(refused.value)
    assert "of layer 'functional" in message
    assert "/known'" in message
    assert "in epoch 1, step 5 of `fit()`" in message
    assert "user-defined function" not in message
    fit(good, 16)  # The four steps before.
    np.testing.assert_allclose(*weights, rtol=1e-6)


def test_a_vocabulary_that_is_replaced_within_an_epoch_counts_at_once(within):
    class Replace(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                self.model.layers[1].set_vocabulary(list("dcba"))

    make, x, _ = CASES["texts"]

    def losses():
        tfkit.utils.set_random_seed(3)
        model = make()
        model.compile("adam", "mse", jit_compile=False)
        rows = tf.data.Dataset.from_tensor_slices((x, LABELS)).map(lambda *row: row).batch(4)
        fits = [{"x": x, "y": LABELS, "batch_size": 4, "shuffle": False}, {"x": rows}]
        return [model.fit(**data, verbose=0, callbacks=[Replace()]).history for data in fits]

    ahead = losses()
    within()
    assert ahead == losses()


def test_what_may_change_between_steps_stays_in_the_step():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    class Changing(layers.Layer):
        def call(self, inputs):
            return tf.ensure_shape(table.lookup(tf.strings.lower(inputs)), inputs.shape)

        def compute_output_shape(self, shape):
            return shape

    class Noise(layers.Layer):
        def call(self, inputs):
            numbers = tf.cast(tf.strings.length(inputs), "float32")
            return numbers + tfkit.random.uniform(tf.shape(inputs), seed=self.seeds)

        def __init__(self):
            super().__init__()
            self.seeds = tfkit.random.SeedGenerator(1)

    model, _ = trained(functional(Changing), SOURCES["arrays"](TEXTS))
    assert "from the operation StringLower" in str(model.plan)
    assert "XLA cannot compile" in str(model.plan)
    model, losses = trained(functional(Noise, embeds=False), SOURCES["arrays"](TEXTS))
    assert len(set(losses)) == 2


def test_mid_epoch_resume_has_the_same_weights(tmp_path):
    make, x, _ = CASES["records"]

    class Stop(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.optimizer.iterations == 9:
                raise KeyboardInterrupt

    for source in ("arrays", "dataset"):
        expected, _ = trained(make, lambda source=source: SOURCES[source](x))
        for stops in (True, False):
            tfkit.utils.set_random_seed(3)
            model = make()
            model.compile("adam", "mse")
            backup = tfkit.callbacks.BackupAndRestore(tmp_path / source, save_freq=3)
            callbacks = [backup, Stop()] if stops else [backup]
            try:
                model.fit(**SOURCES[source](x), epochs=2, verbose=0, callbacks=callbacks)
            except KeyboardInterrupt:
                assert stops
        for weight, other in zip(model.get_weights(), expected.get_weights(), strict=True):
            np.testing.assert_array_equal(weight, other)
