"""`fit`, `evaluate`, `predict` and their single-batch forms, beside Keras."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.random.default_rng(0).normal(size=(50, 4)).astype("float32")
Y = (X @ np.ones((4, 1)) + 0.5).astype("float32")
LABELS = (X[:, 0] > 0).astype("int32") + (X[:, 1] > 0).astype("int32")


def stack(framework, units=1, activation=None):
    framework.utils.set_random_seed(3)
    return framework.Sequential(
        [
            framework.Input((4,)),
            framework.layers.Dense(8, activation="tanh"),
            framework.layers.Dense(units, activation=activation),
        ]
    )


def both(build, **arguments):
    """The histories of one call of `fit` in both frameworks."""
    histories = []
    for framework in (tfkit, keras):
        model = build(framework)
        histories.append(model.fit(verbose=0, shuffle=False, **arguments).history)
    ours, theirs = histories
    assert set(ours) == set(theirs)
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-4, err_msg=name)


def regression(framework):
    model = stack(framework)
    model.compile("adam", "mse", metrics=["mae"], weighted_metrics=["mse"])
    return model


def classification(framework):
    model = stack(framework, 3, "softmax")
    model.compile(
        framework.optimizers.SGD(0.1, momentum=0.9),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


@pytest.mark.parametrize(
    "arguments",
    [
        {"epochs": 3},
        {"epochs": 2, "batch_size": 7, "validation_split": 0.3},
        {"epochs": 3, "initial_epoch": 1, "sample_weight": np.linspace(0, 1, 50)},
        {"epochs": 4, "validation_data": (X[:9], Y[:9]), "validation_freq": 2},
        {"epochs": 2, "validation_data": (X[:9], Y[:9]), "validation_freq": [2]},
    ],
)
def test_fit_gives_the_history_of_keras(arguments):
    both(regression, x=X, y=Y, **arguments)


def test_class_weight():
    both(classification, x=X, y=LABELS, epochs=2, class_weight={0: 1.0, 1: 2.0, 2: 0.5})


def test_initial_weights_equal_those_of_keras():
    for ours, theirs in zip(stack(tfkit).weights, stack(keras).weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_datasets_and_generators_train_like_arrays():
    reference = regression(tfkit).fit(X, Y, batch_size=8, shuffle=False, verbose=0, epochs=2)
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    other = regression(tfkit).fit(dataset, epochs=2, verbose=0)
    for name, values in reference.history.items():
        np.testing.assert_allclose(other.history[name], values, rtol=1e-5)
    model = regression(tfkit)
    model.fit(((X[i : i + 5], Y[i : i + 5]) for i in range(0, 35, 5)), verbose=0)
    assert int(model.optimizer.iterations) == 7


def test_steps_per_epoch_goes_on_where_it_stopped():
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10).repeat()
    model = regression(tfkit)
    model.fit(dataset, epochs=3, steps_per_epoch=4, verbose=0)
    assert int(model.optimizer.iterations) == 12


@pytest.mark.parametrize("steps", [2, 4, 6])
@pytest.mark.parametrize("form", ["arrays", "dataset"])
def test_epochs_of_other_lengths_than_the_data(form, steps):
    """They go on in the data, and begin it anew where it is used up, as in Keras."""
    histories, batches = [], []
    for framework in (tfkit, keras):
        seen = []

        class Hooks(framework.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None, seen=seen):
                seen.append(batch)

        data = {"x": X, "y": Y, "batch_size": 13, "shuffle": False}
        if form == "dataset":
            data = {"x": tf.data.Dataset.from_tensor_slices((X, Y)).batch(13), "shuffle": False}
        model = regression(framework)
        options = {"epochs": 3, "steps_per_epoch": steps, "verbose": 0, "callbacks": [Hooks()]}
        with pytest.warns(UserWarning, match="ran out") if steps == 6 else contextlib.nullcontext():
            histories.append(model.fit(**data, **options).history)
        batches.append(seen)
    ours, theirs = histories
    assert batches[0] == batches[1]
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("limit", [1, 3, None])
def test_the_length_of_programs_changes_nothing(limit):
    expected = regression(tfkit)
    expected.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    model = stack(tfkit)
    model.compile("adam", "mse", steps_per_execution=limit)
    model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 26
    for a, b in zip(model.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("options", [{"run_eagerly": True}, {"jit_compile": True}])
def test_other_programs_give_the_same_weights(options):
    expected = regression(tfkit)
    expected.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    model = stack(tfkit)
    model.compile("adam", "mse", **options)
    model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    for a, b in zip(model.weights, expected.weights, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)


def test_a_step_is_traced_once():
    traces = []

    class Counting(tfkit.Sequential):
        def call(self, x, training=None, mask=None):
            traces.append(training)
            return super().call(x, training, mask)

    model = Counting([tfkit.Input((4,)), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    for _ in range(2):
        model.fit(X, Y, epochs=3, batch_size=8, verbose=0)
        model.evaluate(X, Y, batch_size=8, verbose=0)
        model.predict(X, batch_size=8, verbose=0)
    # Shuffled rows in training; evaluation; prediction.
    assert len(traces) == 3


def test_custom_steps():
    class Custom(tfkit.Model):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.tracker = tfkit.metrics.Mean(name="loss")

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
            self.tracker.update_state(loss)
            return {"loss": self.tracker.result(), "last": loss}

        @property
        def metrics(self):
            return [self.tracker]

    inputs = tfkit.Input((4,))
    model = Custom(inputs, tfkit.layers.Dense(1)(inputs))
    model.compile("adam")
    history = model.fit(X, Y, batch_size=10, epochs=2, verbose=0).history
    assert set(history) == {"loss", "last"}
    assert history["loss"][1] < history["loss"][0]


def test_a_step_that_loops_over_the_metrics():
    def build(framework):
        class Guide(framework.Model):
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    y_pred = self(x, training=True)
                    loss = self.compute_loss(y=y, y_pred=y_pred)
                gradients = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply(gradients, self.trainable_variables)
                for metric in self.metrics:
                    if metric.name == "loss":
                        metric.update_state(loss)
                    else:
                        metric.update_state(y, y_pred)
                return {metric.name: metric.result() for metric in self.metrics}

        framework.utils.set_random_seed(1)
        inputs = framework.Input((4,))
        model = Guide(inputs, framework.layers.Dense(1)(inputs))
        model.compile("sgd", "mse", metrics=["mae"])
        return model

    both(build, x=X, y=Y, batch_size=10, epochs=2)


def test_results_of_a_model_inside_are_not_those_of_the_model():
    def build(framework):
        class Student(framework.Model):
            def __init__(self, teacher):
                super().__init__()
                self.teacher, self.head = teacher, framework.layers.Dense(1)

            def call(self, x):
                return self.head(x) + self.teacher(x, training=False)

        teacher = regression(framework)
        teacher.fit(X, Y, verbose=0, shuffle=False)
        student = Student(teacher)
        student.compile("sgd", "mse", metrics=["mae"])
        return student

    both(build, x=X, y=Y, epochs=2)


def test_several_inputs_and_outputs():
    def build(framework):
        framework.utils.set_random_seed(1)
        a, b = framework.Input((4,), name="a"), framework.Input((1,), name="b")
        joined = framework.layers.Concatenate()([a, b])
        one = framework.layers.Dense(1, name="one")(joined)
        two = framework.layers.Dense(2, name="two")(framework.ops.tanh(joined) * 2.0)
        model = framework.Model({"a": a, "b": b}, {"one": one, "two": two})
        model.compile("sgd", {"one": "mse", "two": "mae"}, loss_weights={"one": 1.0, "two": 0.3})
        return model

    data = {"a": X, "b": Y}
    # Batches of one size: Keras does not weigh the means of several outputs by the batches' sizes.
    both(build, x=data, y={"one": Y, "two": X[:, :2]}, epochs=2, batch_size=10)
    model = build(tfkit)
    outputs = model.predict(data, verbose=0)
    assert {name: value.shape for name, value in outputs.items()} == {
        "one": (50, 1),
        "two": (50, 2),
    }


@pytest.mark.parametrize("loss", ["mse", {"b": "mse", "a": "mae"}, {"c": "mse", "a": "mae"}])
def test_results_of_several_losses_are_listed_as_in_keras(loss):
    """In the order of the losses, or of the outputs: that of `evaluate`'s list."""
    names = []
    for framework in (tfkit, keras):
        x = framework.Input((4,))
        outputs = {name: framework.layers.Dense(1)(x) for name in ("c", "a", "b")}
        model = framework.Model(x, outputs)
        model.compile("sgd", loss)
        values = model.evaluate(X, dict.fromkeys("abc", Y), verbose=0)
        assert len(values) == len(model.metrics_names)
        names.append(model.metrics_names)
    assert names[0] == names[1]


def test_evaluate_predict_and_single_batches():
    ours, theirs = classification(tfkit), classification(keras)
    np.testing.assert_allclose(
        ours.evaluate(X, LABELS, verbose=0), theirs.evaluate(X, LABELS, verbose=0), rtol=1e-5
    )
    np.testing.assert_allclose(ours.predict(X, verbose=0), theirs.predict(X, verbose=0), rtol=1e-5)
    for _ in range(2):
        np.testing.assert_allclose(
            ours.train_on_batch(X, LABELS), theirs.train_on_batch(X, LABELS), rtol=1e-4
        )
    assert set(ours.test_on_batch(X, LABELS, return_dict=True)) == {"loss", "accuracy"}
    assert ours.predict_on_batch(X[:3]).shape == (3, 3)


def test_batch_hooks_see_each_batch():
    seen = []

    class Hooks(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append((batch, logs["loss"]))

    regression(tfkit).fit(X, Y, batch_size=20, epochs=2, verbose=0, callbacks=[Hooks()])
    assert [batch for batch, _ in seen] == [0, 1, 2] * 2


def test_the_batch_size_of_a_dataset_is_its_own():
    model = regression(tfkit)
    with pytest.warns(UserWarning, match="batch_size"):
        model.fit(tf.data.Dataset.from_tensors((X, Y)), batch_size=3, verbose=0)
    assert int(model.optimizer.iterations) == 1


@pytest.mark.parametrize("floatx", ["float64", "bfloat16"])
def test_other_float_types(floatx):
    tfkit.config.set_floatx(floatx)
    try:
        model = regression(tfkit)
        x, y = X.astype("float64") + 1e-12, Y.astype("float64")
        loss = model.evaluate(x, y, verbose=0)[0]
        expected = np.mean((model.predict(x, verbose=0).astype("float64") - y) ** 2)
        assert loss == pytest.approx(expected, rel=1e-14 if floatx == "float64" else 0.02)
    finally:
        tfkit.config.set_floatx("float32")


def test_mixed_precision_scales_the_loss():
    model = tfkit.Sequential(
        [tfkit.Input((4,)), tfkit.layers.Dense(1, dtype="mixed_float16")], dtype="mixed_float16"
    )
    model.compile("sgd", "mse")
    assert isinstance(model.optimizer, tfkit.optimizers.LossScaleOptimizer)
    losses = model.fit(X, Y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


def test_early_stopping_stops():
    model = regression(tfkit)
    callback = tfkit.callbacks.EarlyStopping("loss", patience=0, min_delta=1e9)
    assert len(model.fit(X, Y, epochs=9, verbose=0, callbacks=[callback]).epoch) == 2


def test_refused_calls_change_nothing():
    model = stack(tfkit)
    with pytest.raises(ValueError, match=r"compile\(\)"):
        model.fit(X, Y)
    model.compile("adam", "mse")
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"x: 50.*y: 49"):
        model.fit(X, Y[:49], verbose=0)
    with pytest.raises(ValueError, match="msee"):
        model.compile("adam", "msee")
    with pytest.raises(ValueError, match=r"np\.array\(x\)"):
        model.fit(X.tolist(), Y.tolist())
    with pytest.raises(ValueError, match="validation_split"):
        model.fit(X, Y, validation_split=1.5)
    assert model.loss == "mse"
    assert int(model.optimizer.iterations) == 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
