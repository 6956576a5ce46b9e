"""Models that read strings train on each kind of data; errors, vocabularies and resumes are exact."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

TEXTS = np.array([["a b c"], ["b, C d"], ["e"], ["f a a a"], ["b"]] * 5)
LABELS = np.arange(25.0).astype("float32") / 25


class Records(tfkit.Model):
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


def texts():
    x = tfkit.Input((1,), dtype="string")
    words = layers.TextVectorization(vocabulary=list("abcd"), output_sequence_length=4)(x)
    return tfkit.Model(x, layers.Dense(1)(layers.Flatten()(layers.Embedding(30, 3)(words))))


RECORDS = {
    "text": TEXTS[:, 0],
    "kind": np.array([["u"], ["v"], ["w"], ["u"], ["u"]] * 5),
    "number": LABELS[:, None],
}
CASES = {"texts": (texts, TEXTS), "records": (Records, RECORDS)}
SOURCES = {
    "arrays": lambda x: {"x": x, "y": LABELS, "batch_size": 4, "shuffle": False},
    "slices": lambda x: {"x": tf.data.Dataset.from_tensor_slices((x, LABELS)).batch(4)},
    "dataset": lambda x: {
        "x": tf.data.Dataset.from_tensor_slices((x, LABELS)).map(lambda *row: row).batch(4)
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


@pytest.mark.parametrize("case", CASES)
def test_each_source_gives_the_same_losses(case):
    make, x = CASES[case]

    def losses(source):
        tfkit.utils.set_random_seed(3)
        model = make()
        model.compile("adam", "mse")
        return model.fit(**SOURCES[source](x), epochs=2, verbose=0).history["loss"]

    expected = losses("arrays")
    for source in SOURCES:
        np.testing.assert_allclose(losses(source), expected, rtol=1e-6)


def test_required_compilation_is_refused_before_a_step_runs():
    model = texts()
    model.compile("adam", "mse", jit_compile=True)
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"`jit_compile=True`, but XLA cannot .* dtype string"):
        model.fit(TEXTS, LABELS, verbose=0)
    for weight, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, old)


def lookup_model():
    x = tfkit.Input((1,), dtype="string")
    found = layers.StringLookup(vocabulary=["k"], num_oov_indices=0, name="known")(x)
    return tfkit.Model(x, layers.Dense(1)(layers.Flatten()(layers.Embedding(30, 3)(found))))


@pytest.mark.parametrize("source", ["arrays", "dataset"])
@pytest.mark.parametrize("jit_compile", ["auto", False])
def test_a_refused_string_names_its_layer_and_its_step(source, jit_compile):
    good = np.full((24, 1), "k")
    bad = good.copy()
    bad[17] = "x"

    def fit(x, rows):
        tfkit.utils.set_random_seed(0)
        model = lookup_model()
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


def test_a_vocabulary_that_is_replaced_within_an_epoch_counts_at_once():
    class Replace(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                self.model.layers[1].set_vocabulary(list("dcba"))

    def losses(jit_compile, source, *callbacks):
        tfkit.utils.set_random_seed(3)
        model = texts()
        model.compile("adam", "mse", jit_compile=jit_compile)
        return model.fit(**SOURCES[source](TEXTS), verbose=0, callbacks=callbacks).history["loss"]

    expected = losses(False, "arrays", Replace())
    assert losses("auto", "dataset", Replace()) == pytest.approx(expected, rel=1e-6)
    assert losses(False, "arrays") != pytest.approx(expected, rel=1e-4)


def test_mid_epoch_resume_has_the_same_weights(tmp_path):
    make, x = CASES["records"]

    class Stop(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.optimizer.iterations == 9:
                raise KeyboardInterrupt

    for source in ("arrays", "dataset"):
        tfkit.utils.set_random_seed(3)
        expected = make()
        expected.compile("adam", "mse")
        expected.fit(**SOURCES[source](x), epochs=2, verbose=0)
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
