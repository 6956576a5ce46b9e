"""What `fit` takes: every form of data trains the same model in the same way."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pandas
import pytest
import scipy.sparse
import tensorflow as tf

import tfkit as keras
from tests.tolerances import assert_same_sums
from tfkit.src.engine.arrays import as_tensor
from tfkit.src.training.py_dataset import PyDatasetPasses

X = np.random.default_rng(1).random((50, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


class Batches(keras.utils.PyDataset):
    """Ten batches of five rows."""

    def __init__(self, **options):
        super().__init__(**options)
        self.epochs = []

    def __len__(self):
        return 10

    def __getitem__(self, index):
        rows = slice(5 * index, 5 * index + 5)
        return X[rows], Y[rows]

    def on_epoch_begin(self):
        self.epochs.append("begin")

    def on_epoch_end(self):
        self.epochs.append("end")


class Stream(keras.utils.PyDataset):
    """Without end."""

    num_batches = None

    def __getitem__(self, index):
        rows = slice(5 * (index % 10), 5 * (index % 10) + 5)
        return X[rows], Y[rows]


def generator():
    for index in range(10):
        yield Batches()[index]


class Reiterable:
    def __iter__(self):
        return generator()


# Of 20 steps: the product, the gradient and the mean over 5 rows.
TERMS = 20 * ((3 + 1) + 5 + 5)


def train(data, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    history = model.fit(data, epochs=2, shuffle=False, verbose=0, **options)
    return model, history.history["loss"]


@pytest.fixture(scope="module")
def expected():
    return train(X, y=Y, batch_size=5)


@pytest.mark.parametrize(
    "make",
    [
        Batches,
        lambda: Batches(workers=3),
        lambda: Batches(workers=2, use_multiprocessing=True),
        lambda: Batches(max_queue_size=1),
        lambda: Reiterable(),
        lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(5),
    ],
    ids=["PyDataset", "threads", "processes", "short queue", "iterable", "tf.data"],
)
def test_sources_train_like_arrays(make, expected):
    model, losses = train(make())
    assert int(model.optimizer.iterations) == 20
    assert_same_sums(losses, expected[1], TERMS)
    assert_same_sums(model.get_weights()[0], expected[0].get_weights()[0], TERMS)


def test_a_py_dataset_hears_of_its_epochs():
    data = Batches(workers=2)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=3, verbose=0)
    # As in Keras, where a data set that shuffles itself at the end of epochs is shuffled in the first one.
    assert data.epochs == ["end", *["begin", "end"] * 3]


def test_workers_make_batches_at_the_same_time():
    class Together(Batches):
        both = threading.Barrier(2)

        def __getitem__(self, index):
            if index < 2:
                self.both.wait(timeout=60)  # It fails unless another thread makes the other batch.
            return super().__getitem__(index)

    assert len(list(PyDatasetPasses(Together(workers=2), shuffle=False))) == 10


def test_a_py_dataset_that_forgets_its_constructor_has_one_worker():
    class Forgetful(keras.utils.PyDataset):
        def __init__(self):
            self.rows = (X[:5], Y[:5])

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return self.rows

    model, _ = train(Forgetful())
    assert int(model.optimizer.iterations) == 4


def test_endless_data_needs_and_heeds_steps():
    model, losses = train(Stream(), steps_per_epoch=7)
    assert int(model.optimizer.iterations) == 14
    assert len(losses) == 2


def test_a_generator_of_n_batches_trains_n_steps():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(generator(), verbose=0)
    assert int(model.optimizer.iterations) == 10


@pytest.mark.parametrize("pair", [tuple, list])
def test_a_generator_may_give_a_list_of_inputs(pair):
    left, right = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([left, right], keras.layers.Add()([left, right]))
    model.compile("sgd", "mse")
    a, b, y = np.ones((4, 2)), np.full((4, 2), 2.0), np.full((4, 2), 5.0)
    history = model.fit(iter([pair(([a, b], y))]), verbose=0)
    assert history.history["loss"] == [4.0]
    np.testing.assert_array_equal(model.predict(iter([([a, b],)]), verbose=0), a + b)


def test_the_error_of_a_generator_is_shown_as_it_is():
    def broken():
        yield from generator()
        raise LookupError("no such file")

    with pytest.raises(LookupError, match="no such file"):
        train(broken())
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    with pytest.raises(LookupError, match="no such file"):
        model.predict((x for x, _ in broken()), verbose=0)


def test_pandas(expected):
    frame = pandas.DataFrame(X, columns=list("abc"))
    _, losses = train(frame, y=pandas.Series(Y[:, 0]), batch_size=5)
    assert_same_sums(losses, expected[1], TERMS)


def test_sparse_and_ragged_rows(expected):
    class Sum(keras.layers.Layer):
        def call(self, inputs):
            if isinstance(inputs, tf.SparseTensor):
                return tf.sparse.reduce_sum(inputs, axis=1, keepdims=True)
            return tf.reduce_sum(inputs, axis=1, keepdims=True)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.sum = Sum()
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(tf.reshape(self.sum(inputs), [-1, 1]))

    losses = []
    for x in (X, tf.sparse.from_dense(X), tf.RaggedTensor.from_tensor(X)):
        keras.utils.set_random_seed(1)
        model = Net()
        model.compile("sgd", "mse")
        losses.append(
            model.fit(x, Y, batch_size=7, shuffle=False, epochs=2, verbose=0).history["loss"]
        )
        assert model.predict(x, verbose=0).shape == (50, 1)
        model.fit(x, Y, batch_size=7, verbose=0)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    np.testing.assert_allclose(losses[2], losses[0], rtol=1e-5)


@pytest.mark.parametrize(
    "rows",
    [tf.ragged.constant([[1.0], [2.0, 3.0], []]), tf.sparse.from_dense([[1.0, 0.0], [0.0, 3.0]])],
    ids=["ragged", "sparse"],
)
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_ragged_and_sparse_outputs_stay_what_they_are(rows, run_eagerly):
    class Doubled(keras.Model):
        def call(self, inputs):
            return inputs.with_values(2 * inputs.values)

    model = Doubled()
    model.compile("sgd", lambda y, y_pred: tf.reduce_sum(y_pred.values), run_eagerly=run_eagerly)
    results = model.fit(rows, rows, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(results, [2 * float(tf.reduce_sum(rows.values))])
    for batch_size in (1, 32):
        outputs = model.predict(rows, batch_size=batch_size, verbose=0)
        assert type(outputs) is type(rows)
        np.testing.assert_array_equal(outputs.values, 2 * rows.values)


FORMS = [
    np.asarray,
    scipy.sparse.csr_matrix,
    tf.sparse.from_dense,
    tf.RaggedTensor.from_tensor,
]


class Dense(keras.layers.Layer):
    """The sums of rows of any form."""

    def call(self, x):
        if isinstance(x, tf.SparseTensor):
            x = tf.sparse.to_dense(x)
        x = x.to_tensor() if isinstance(x, tf.RaggedTensor) else x
        return tf.reduce_sum(x, axis=1, keepdims=True)


@pytest.mark.parametrize("form", FORMS, ids=["array", "scipy", "sparse", "ragged"])
def test_weights_without_targets_are_refused_and_never_taken_as_targets(form):
    model = keras.Sequential([Dense()])
    model.compile("sgd", "mse")
    for options in ({"sample_weight": np.ones(50)}, {"class_weight": {0: 1.0}}):
        with pytest.raises(ValueError, match="was passed without `y`"):
            model.fit(form(X), **options, verbose=0)
    with pytest.raises(ValueError, match="was passed without `y`"):
        model.evaluate(form(X), sample_weight=np.ones(50), verbose=0)


@pytest.mark.parametrize("form", FORMS, ids=["array", "scipy", "sparse", "ragged"])
def test_weights_of_classes_for_rows_of_any_form(form):
    model = keras.Sequential([Dense()])
    model.compile("sgd", "mse")
    classes = (np.arange(50) % 2)[:, None]
    weights = np.where(classes == 1, 3.0, 0.5)
    found = model.fit(
        form(X), classes, class_weight={0: 0.5, 1: 3.0}, shuffle=False, batch_size=50, verbose=0
    )
    expected = np.mean(weights * (Y - classes) ** 2)
    np.testing.assert_allclose(found.history["loss"], [expected], rtol=1e-6)


@pytest.mark.parametrize("column", [True, False])
def test_weights_of_classes_and_of_rows_are_multiplied(column):
    model = keras.Sequential([Dense()])
    model.compile("sgd", "mse")
    classes, rows = np.arange(50) % 2, np.arange(1.0, 51)
    weights = np.where(classes == 1, 3.0, 0.5) * rows
    y = classes[:, None] if column else classes
    found = model.fit(
        *(X, y), class_weight={0: 0.5, 1: 3.0}, sample_weight=rows, batch_size=50, verbose=0
    )
    expected = np.mean(weights[:, None] * (Y - classes[:, None]) ** 2)
    np.testing.assert_allclose(found.history["loss"], [expected], rtol=1e-6)


@pytest.mark.parametrize("method", ["train_on_batch", "test_on_batch"])
def test_lists_of_weights_of_one_batch_are_arrays_for_each_output(method):
    """As in Keras, which accepts them in these methods, but not in `fit`."""
    first, second = np.arange(8.0), np.arange(8) > 3
    rows, targets = np.ones((8, 3)), np.arange(8.0)[:, None] / 2
    column = first[:, None]
    for weights in ([first], [column], [first, second], [first, None]):
        x = keras.Input((3,))
        outputs = [keras.layers.Dense(1, kernel_initializer="ones", name=it)(x) for it in "ab"]
        model = keras.Model(x, outputs if len(weights) == 2 else outputs[0])
        metrics = [["mae"]] * len(weights)
        model.compile(keras.optimizers.SGD(0.0), "mse", weighted_metrics=metrics)
        listed = [it if it is None else it.tolist() for it in weights]
        forms = [weights, listed, dict(zip("ab", listed, strict=False))]
        if len(weights) == 1:
            forms = [weights[0], listed[0], tuple(listed[0])]
        y = [targets, targets] if len(weights) == 2 else targets
        found = [getattr(model, method)(rows, y, sample_weight=form) for form in forms]
        np.testing.assert_array_equal(found[1:], found[:1] * 2)


def test_no_more_batches_are_read_ahead_than_the_queue_has_places():
    seen = []

    class Seen(keras.utils.PyDataset):
        def __len__(self):
            return 9

        def __getitem__(self, index):
            seen.append(index)
            return X[:1]

    batches = iter(PyDatasetPasses(Seen(workers=5, max_queue_size=2), shuffle=False))
    next(batches)
    batches.close()
    assert 0 in seen
    assert set(seen) <= {0, 1}


@pytest.mark.parametrize("batch", [X[:5], (X[:5],), {"x": X[:5]}], ids=["array", "tuple", "dict"])
def test_a_step_gets_what_keras_gives_it_of_a_py_dataset(batch):
    class Same(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return batch

    class Noting(keras.Model):
        def train_step(self, data):
            self.seen = type(data)
            return {"loss": tf.constant(0.0)}

    model = Noting()
    model.compile("sgd", "mse")
    model.fit(Same(), verbose=0)
    assert model.seen is (dict if isinstance(batch, dict) else tuple)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_matrix, scipy.sparse.coo_matrix, tf.sparse.from_dense]
)
def test_the_width_of_sparse_rows_is_known(form, dtype):
    """A layer makes its weights from it; rows by themselves, and batches of a generator."""
    x = np.where(X > 0.5, X, 0).astype(dtype)

    def batches(form):
        return ((form(x[i : i + 20]), Y[i : i + 20]) for i in range(0, 50, 20))

    def train(data, **options):
        model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse")
        return model.fit(*data, shuffle=False, verbose=0, **options).history["loss"]

    expected = train((x, Y), batch_size=20)
    np.testing.assert_allclose(train((batches(form),)), expected, rtol=1e-5)
    np.testing.assert_allclose(train((form(x), Y), batch_size=20), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "uint8", "int64", "bool", ">f4"]
)
def test_large_arrays_are_copied_as_they_are(dtype):
    array = (np.random.default_rng(0).random((300, 4000)) * 100).astype(dtype)
    tensor = as_tensor(array)
    before = array.astype("float32")
    array[:] = 0
    assert tensor.dtype == ("float32" if dtype in ("float64", ">f4") else dtype)
    np.testing.assert_array_equal(tf.cast(tensor, "float32"), before)


def test_files_that_are_mapped_into_memory_are_not_copied(tmp_path):
    array = np.random.default_rng(0).random((1200, 256)).astype("float32")
    np.save(tmp_path / "x.npy", array)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for part in (mapped, mapped[100:], mapped[:1100]):
        assert np.shares_memory(np.asarray(memoryview(as_tensor(part))), mapped)
    # Other dtypes and rows with gaps cannot be shared.
    for part in (mapped[:, :250], mapped[::-1], mapped.view("float64")):
        tensor = as_tensor(part)
        assert not np.shares_memory(np.asarray(memoryview(tensor)), mapped)
        np.testing.assert_array_equal(tensor, part.astype("float32"))
    trained = []
    for x in (mapped, array):
        model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse")
        model.fit(x, array[:, :1], validation_split=0.25, shuffle=False, verbose=0)
        trained.append(model.get_weights())
    np.testing.assert_array_equal(trained[0][0], trained[1][0])
    # The tensor keeps the file mapped, and is not written to.
    tensor = as_tensor(mapped)
    del mapped, part
    gc.collect()
    (tmp_path / "x.npy").unlink()
    np.testing.assert_array_equal(tf.nn.relu(tf.negative(tensor)) - tensor, -array)


def test_a_model_does_not_hold_what_it_was_trained_on():
    x, y = tf.constant(X), tf.constant(Y)
    model, _ = train(x, y=y, validation_data=(x[:20], y[:20]))
    model.evaluate(x, y, verbose=0)
    model.predict(x, verbose=0)
    model.predict_on_batch(x)
    model.train_on_batch(x, y)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(8)
    model.fit(dataset, verbose=0)
    held = [weakref.ref(x), weakref.ref(y)]
    del x, y, dataset
    gc.collect()
    assert [reference() for reference in held] == [None, None]


def test_predictions_can_be_streamed():
    model, _ = train(X, y=Y, batch_size=5)
    whole = model.predict(X, batch_size=8, verbose=0)
    parts = list(model.predict(X, batch_size=8, stream=True))
    assert [len(part) for part in parts] == [8] * 6 + [2]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    with pytest.raises(ValueError, match="calls no callbacks"):
        model.predict(X, stream=True, callbacks=[keras.callbacks.Callback()])


def test_accumulated_gradients_are_those_of_a_large_batch():
    def run(batch_size, steps):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=steps), "mse")
        model.fit(X[:48], Y[:48], batch_size=batch_size, epochs=3, shuffle=False, verbose=0)
        return model.get_weights()

    # 12 batches an epoch and 8 to an update: updates reach over the ends of epochs.
    rows = np.concatenate([np.arange(48)] * 3)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    for start in range(0, len(rows) - 31, 32):
        model.train_on_batch(X[rows[start : start + 32]], Y[rows[start : start + 32]])
    for weight, expected in zip(run(4, 8), model.get_weights(), strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_is_heard_and_leaves_the_model_usable(tmp_path):
    """At the end of the program in which it came: an epoch of 125 steps, or a part of one."""
    script = """
        import os, signal, sys, threading, numpy as np, tfkit as keras
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored in a shell's background.
        sys.setswitchinterval(1000)  # Other threads run while this one computes in TensorFlow.
        x = np.random.rand(4000, 64).astype("float32")
        model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(512), keras.layers.Dense(64)])
        model.compile("adam", "mse")
        model.fit(x, x, verbose=0)
        ended, sent, third = [0], [], threading.Event()

        class Epochs(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                ended.append(epoch + 1)
                if epoch == 2:
                    third.set()

        def interrupt():
            third.wait()
            sent.append(ended[-1])
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            model.fit(x, x, epochs=10**6, verbose=0, callbacks=[Epochs()])
        except KeyboardInterrupt:
            print("heard")
        steps = int(model.optimizer.iterations)
        assert 0 <= steps - 125 * (1 + sent[0]) <= 250, (steps, sent)
        assert np.isfinite(model.predict(x[:3], verbose=0)).all()
        model.fit(x[:64], x[:64], verbose=0)
        assert int(model.optimizer.iterations) == steps + 2
        print("usable")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "heard\nusable\n"), done.stderr


# --- What pandas holds ------------------------------------------------------------------------------

WORDS = pandas.DataFrame({"n": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]})
NUMBERS = {
    "dummies": (pandas.get_dummies(WORDS), [[1, 1, 0], [2, 0, 1], [3, 1, 0]], "float32"),
    "bool": (pandas.get_dummies(WORDS[["kind"]]), [[1, 0], [0, 1], [1, 0]], "bool"),
    "object ints": (pandas.DataFrame({"n": [1, 2]}, dtype=object), [[1], [2]], "int64"),
    "object floats": (np.array([[1], [2.5], [True]], object), [[1], [2.5], [1]], "float32"),
    "Int64": (pandas.Series([1, 2], dtype="Int64"), [[1], [2]], "int64"),
    "Int64 beside floats": (
        pandas.DataFrame({"a": pandas.array([1, 2], dtype="Int64"), "b": [0.5, 1.5]}),
        [[1, 0.5], [2, 1.5]],
        "float32",
    ),
    "strings among numbers": (
        WORDS,
        [["1.0", "a"], ["2.0", "b"], ["3.0", "a"]],
        "string",
    ),
}


@pytest.mark.parametrize(("given", "expected", "dtype"), NUMBERS.values(), ids=NUMBERS)
def test_frames_and_objects_of_numbers_are_numbers(given, expected, dtype):
    tensor = as_tensor(given)
    assert tensor.dtype.name == dtype
    values = tensor.numpy().astype(str) if dtype == "string" else tensor.numpy()
    np.testing.assert_array_equal(values, expected)


MISSING = {
    **{
        dtype: pandas.DataFrame({"a": pandas.array([1, None], dtype=dtype), "b": [0.5, 1.5]})
        for dtype in ("Int64", "UInt8", "Float64", "Float32", "boolean", "string")
    },
    "category": pandas.DataFrame({"a": pandas.Categorical([1, None]), "b": [0.5, 1.5]}),
    "a series": pandas.Series([1, None], dtype="Int64"),
    "objects": pandas.Series([1, pandas.NA], dtype=object),
    "None": np.array([1, None], object),
    "NaN among strings": np.array(["a", np.nan], object),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_values_are_refused(name):
    given = MISSING[name]
    assert_refused("Missing values must be filled in or left out first. Received: .* with 1", given)


def test_times_among_columns_of_numbers_are_refused():
    times = pandas.to_datetime(["2020-01-01", "2020-01-02"])
    given = pandas.DataFrame({"at": times, "b": [0.5, 1.5]})
    assert_refused("Convert dates and times to numbers first. Received: .* datetime64", given)


def assert_refused(message, given):
    """Asserts that `fit` refuses what is given, wherever that is, and that nothing has changed."""
    if isinstance(given, pandas.DataFrame):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        before = model.get_weights()
        with pytest.raises(ValueError, match=message):
            model.fit(given, np.zeros(2), verbose=0)
        with pytest.raises(ValueError, match=message):
            model.fit(np.zeros((2, 2)), np.zeros(2), sample_weight=given, verbose=0)
        with pytest.raises(ValueError, match=message):
            model.train_on_batch(given, np.zeros(2))
        np.testing.assert_array_equal(model.get_weights()[0], before[0])
    with pytest.raises(ValueError, match=message):
        as_tensor(given)


def test_nan_is_a_value_of_floats():
    frame = pandas.DataFrame({"a": [1.0, np.nan], "b": [1, 2]})
    np.testing.assert_array_equal(as_tensor(frame), [[1, 1], [np.nan, 2]])
    objects = pandas.Series([1.0, np.nan], dtype=object)
    np.testing.assert_array_equal(as_tensor(objects), [[1], [np.nan]])


@pytest.mark.parametrize(("size", "steps"), [(None, 2), (2, 4), (3, 3)])
def test_validation_may_have_batches_of_its_own_size(size, steps):
    begun = []
    count = keras.callbacks.LambdaCallback()
    count.on_test_batch_begin = lambda batch, logs=None: begun.append(batch)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = X[:8], Y[:8]
    options = {"validation_data": data, "validation_batch_size": size, "callbacks": [count]}
    model.fit(*data, batch_size=4, verbose=0, **options)
    assert begun == list(range(steps))


@pytest.mark.parametrize("run_eagerly", [False, True], ids=["compiled", "eager"])
def test_validations_go_on_in_a_generator_and_lose_no_batch(run_eagerly):
    """Keras begins each with the first two batches again, and goes on where reading ahead had come."""

    def batches(count):
        for number in range(count):
            yield np.full((2, 1), number, "float32"), np.zeros((2, 1), "float32")

    def losses(given, **options):
        model = keras.Sequential([keras.layers.Flatten()])
        model.compile("sgd", "mae", run_eagerly=run_eagerly)
        rows = np.zeros((4, 1), "float32")
        options = {"epochs": 4, "validation_steps": 2, **options}
        return model.fit(rows, rows, validation_data=given, verbose=0, **options).history[
            "val_loss"
        ]

    assert losses(batches(1_000)) == [0.5, 2.5, 4.5, 6.5]
    assert losses(batches(1_000), validation_freq=2) == [0.5, 2.5]
    assert losses(batches(8)) == [0.5, 2.5, 4.5, 6.5]


def test_predictions_of_batches_with_other_lengths_are_ragged():
    """As in Keras; the sizes after the last that differs stay dense."""
    batches = [np.ones((2, 5, 3), "float32"), np.full((1, 2, 3), 2.0, "float32")]
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.ReLU()])
    found = model.predict(((batch,) for batch in batches), verbose=0)
    assert found.shape.as_list() == [3, None, 3]
    assert found.to_list() == [*batches[0].tolist(), *batches[1].tolist()]


def test_a_loop_over_a_data_set_of_batches_ends():
    class Numbers(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return index

    class Endless(Numbers):
        num_batches = None

    class Unknown(keras.utils.PyDataset):
        __getitem__ = Numbers.__getitem__

    assert list(Numbers()) == [0, 1, 2]
    for endless in (Endless(), Unknown()):
        assert [number for number, _ in zip(endless, range(5), strict=False)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("known", [True, False])
def test_no_part_of_a_dataset_is_split_off_for_validation(known):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    data = data if known else data.filter(lambda x, y: True)
    with pytest.raises(
        ValueError, match="`validation_split` is only supported for tensors or NumPy"
    ):
        train(data, validation_split=0.2)
