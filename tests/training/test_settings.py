"""What `compile` was given stands in one place: attributes that are set later reach everyone who reads it."""

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine.guards.xla_call import XlaCall
from tfkit.src.optimizers import compiling
from tfkit.src.training import compilation
from tfkit.src.training.planner import EAGER, GRAPH_LOOP, XLA_LOOP, XLA_STEP

X, Y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")


def make_model(optimizer="sgd", loss="mse", **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(optimizer, loss, **options)
    return model


def kinds(model):
    model.fit(X, Y, verbose=0)
    model.evaluate(X, Y, verbose=0)
    model.predict(X, verbose=0)
    return {mode: plan.kind for mode, plan in model.plan.items()}


def test_jit_compile_reaches_every_mode_and_the_file(tmp_path):
    model = make_model(jit_compile=True)
    assert kinds(model) == {"train": XLA_LOOP, "test": XLA_LOOP, "predict": XLA_STEP}
    model.jit_compile = False
    assert kinds(model) == dict.fromkeys(("train", "test", "predict"), GRAPH_LOOP)
    assert model.get_compile_config()["jit_compile"] is False
    model.save(tmp_path / "model.h5")
    loaded = keras.models.load_model(tmp_path / "model.h5")
    assert loaded.jit_compile is False
    assert kinds(loaded)["train"] == GRAPH_LOOP


def in_xla(model, x):
    """Whether the function that answers direct calls is one that XLA must compile."""
    for _ in range(3):
        model(x)
    traces = [
        trace
        for kind in model._tfkit.direct._kinds.values()
        if kind is not None
        for trace in kind._traces
        if trace.watch.unchanged()
    ]
    (trace,) = traces
    return isinstance(trace.call, XlaCall)


def test_jit_compile_reaches_direct_calls():
    x = tf.ones((2, 3))
    model = make_model(jit_compile=True)
    assert in_xla(model, x)
    model.jit_compile = False
    assert not in_xla(model, x)
    model.jit_compile = True
    assert in_xla(model, x)


def test_a_call_that_could_not_be_compiled_is_an_error_once_jit_compile_asks_for_it():
    class Counts(keras.Model):
        count = 0

        def call(self, x):
            self.count += 1
            return x

    model = Counts()
    x = tf.ones((2, 3))
    for _ in range(3):
        model(x)
    assert model.count == 3
    model.jit_compile = True
    model(x)
    with pytest.raises(Exception, match="it sets the attribute `count`"):
        model(x)


def test_jit_compile_reaches_the_update_of_the_optimizer(monkeypatch):
    asked = []
    monkeypatch.setattr(compiling, "pays", lambda *_: asked.append("pays"))
    model = make_model("sgd", jit_compile=False)
    optimizer = model.optimizer

    def update():
        asked.clear()
        variables = model.trainable_weights
        optimizer.apply([tf.zeros_like(variable) for variable in variables], variables)
        return bool(asked)

    assert not update()
    model.jit_compile = "auto"
    assert update()
    model.jit_compile = False
    assert not update()
    model.optimizer = "adam"  # The first one belongs to no model now.
    assert update()


def test_an_optimizer_that_two_models_share_follows_the_one_whose_step_it_is(monkeypatch):
    asked = []
    monkeypatch.setattr(compiling, "pays", lambda *_: asked.append("pays"))
    shared = keras.layers.Dense(1)
    models = [keras.Sequential([keras.Input((3,)), shared]) for _ in range(2)]
    optimizer = keras.optimizers.SGD()
    for model, jit_compile in zip(models, (False, "auto"), strict=True):
        model.compile(optimizer, "mse", jit_compile=jit_compile)
    found = []
    for model in models:
        asked.clear()
        model.fit(X, Y, verbose=0)
        found.append(bool(asked))
    assert found == [False, True]
    asked.clear()
    optimizer.apply([tf.zeros_like(w) for w in shared.weights], shared.weights)
    assert not asked  # In a loop of the user's none of the owners may object.


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("jit_compile", "yes", "`jit_compile` must be True, False or 'auto'. Received: 'yes'"),
        ("jit_compile", "never", "must be True, False or 'auto'"),
        ("run_eagerly", "no", "`run_eagerly` must be True or False. Received: 'no'"),
        ("run_eagerly", True, "cannot be combined"),
        ("steps_per_execution", 0, "`steps_per_execution` must be a positive integer. Received: 0"),
        ("steps_per_execution", 2.5, "must be a positive integer"),
        ("steps_per_execution", "16", "must be a positive integer"),
        ("optimizer", "sdg", "sgd"),
        ("loss", "no such loss", "no such loss"),
    ],
)
def test_a_wrong_value_is_refused_as_in_compile_and_changes_nothing(name, value, message):
    model = make_model(jit_compile=True)
    before = model.get_compile_config()
    with pytest.raises(ValueError, match=message):
        setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        model.compile(**{"optimizer": "adam", "jit_compile": True, name: value})
    assert model.get_compile_config() == before
    assert kinds(model)["train"] == XLA_LOOP


def test_equal_values_count_as_the_values_themselves():
    model = make_model(jit_compile=np.True_, run_eagerly=0, steps_per_execution=np.int64(4))
    assert model.jit_compile is True
    assert model.run_eagerly is False
    assert kinds(model)["train"] == XLA_LOOP
    model.jit_compile = None
    assert model.get_compile_config()["jit_compile"] == "auto"
    model.jit_compile = 0
    assert model.jit_compile is False


def test_another_loss_is_trained_measured_and_saved():
    model = make_model(loss="mse")
    model.evaluate(X, 3 * Y, verbose=0)
    model.loss = "mae"
    expected = float(np.mean(np.abs(model.predict(X, verbose=0) - 3 * Y)))
    np.testing.assert_allclose(model.evaluate(X, 3 * Y, verbose=0), expected, rtol=1e-6)
    assert model.get_compile_config()["loss"] == "mae"
    before = model.get_weights()[0].copy()
    model.fit(X, 3 * Y, batch_size=64, verbose=0)
    step = np.abs(model.get_weights()[0] - before)
    np.testing.assert_allclose(step, 0.01, rtol=1e-4)  # The gradient of an absolute value is 1.


@pytest.mark.parametrize(
    "value", [keras.losses.MeanSquaredError(), "mse", 0.0, np.zeros(3), {"a": 1}]
)
def test_a_loss_of_the_models_own_stays_if_none_is_compiled(value):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.loss = value
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
            return tf.reduce_mean(self.loss(y, y_pred) if callable(self.loss) else y_pred)

    model = Own()
    model.compile("sgd")
    assert model.loss is value
    model.fit(X, Y, verbose=0)
    assert "loss" not in model.get_compile_config() or model.get_compile_config()["loss"] is None
    model.compile("sgd", loss="mae")
    assert model.loss == "mae"


def test_another_optimizer_trains_and_is_saved_and_tracked(tmp_path):
    model = make_model("sgd")
    model.fit(X, Y, verbose=0)
    adam = keras.optimizers.Adam(0.0)
    model.optimizer = adam
    before = model.get_weights()
    model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], before[0])
    assert int(adam.iterations) == 2
    assert model.get_compile_config()["optimizer"]["class_name"] == "Adam"
    model.save(tmp_path / "model.keras")
    assert int(keras.models.load_model(tmp_path / "model.keras").optimizer.iterations) == 2
    checkpoint = tf.train.Checkpoint(model).save(str(tmp_path / "checkpoint"))
    names = [name for name, _ in tf.train.list_variables(checkpoint)]
    assert any(name.startswith("optimizer/") for name in names)
    model.optimizer = "sgd"
    assert isinstance(model.optimizer, keras.optimizers.SGD)


def test_an_optimizer_of_a_mixed_model_is_wrapped_when_it_is_set_too():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.dtype_policy = "mixed_float16"
    model.compile("sgd", "mse")
    model.optimizer = "adam"
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    model.compile("sgd", "mse", auto_scale_loss=False)
    model.optimizer = "adam"
    assert isinstance(model.optimizer, keras.optimizers.Adam)


def test_settings_before_compile_hold_for_predict():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.run_eagerly = True
    model.predict(X, verbose=0)
    assert model.plan["predict"].kind == EAGER
    assert not hasattr(model, "optimizer")
    assert model.get_compile_config() is None


OPTIONS = {
    "clipvalue": 1e-12,
    "clipnorm": 1e-12,
    "global_clipnorm": 1e-12,
    "learning_rate": keras.optimizers.schedules.ExponentialDecay(0.0, 1, 1.0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_optimizer_that_is_set_later_reaches_compiled_steps(name):
    model = make_model(keras.optimizers.SGD(0.1))
    model.fit(X, 3 * Y, verbose=0)
    setattr(model.optimizer, name, OPTIONS[name])
    before = model.get_weights()[0].copy()
    model.fit(X, 3 * Y, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], before, atol=1e-6)


def test_a_learning_rate_that_is_set_is_no_reason_to_trace_again():
    traces = []

    def loss(y, y_pred):
        traces.append(1)
        return tf.square(y - y_pred)

    model = make_model(keras.optimizers.Adam(0.1), loss)
    model.fit(X, Y, verbose=0)
    count = len(traces)
    for rate in (0.01, 0.001):
        model.optimizer.learning_rate = rate
        model.fit(X, Y, verbose=0)
    assert len(traces) == count


def test_the_variable_for_the_backend_of_keras_is_answered_once(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    make_model()
    for backend, way in (("jax", "compile\\(engine='jax'\\)"), ("torch", "interop.to_torch")):
        monkeypatch.setenv("KERAS_BACKEND", backend)
        message = f"KERAS_BACKEND={backend} has no effect.*{way}"
        with pytest.warns(UserWarning, match=message) as seen:
            make_model()
        make_model()  # A second warning would be an error.
        assert seen[0].filename == __file__


def test_the_steps_of_a_program_are_a_number_in_a_function_of_the_user():
    model = make_model("sgd")
    assert model.steps_per_execution == 1
    model.steps_per_execution = 3
    assert model.steps_per_execution == 3
    model.steps_per_execution = None
    assert model.steps_per_execution == 1


@pytest.mark.parametrize("device", ["CPU", "GPU"])
def test_a_function_of_the_user_may_ask_whether_to_use_xla(device, monkeypatch):
    model = make_model("sgd")
    monkeypatch.setattr(compilation, "device", lambda: device)
    assert model.jit_compile is (device == "GPU")
    model.jit_compile = True
    assert model.jit_compile is True
    model.jit_compile = False
    assert model.jit_compile is False


def test_what_is_not_compiled_again_stays_as_in_keras():
    calls = [
        {"loss": "mse", "loss_weights": [2.0], "metrics": ["mae"]},
        {"loss": "mae"},
        {},
        {"weighted_metrics": ["mse"]},
        {"metrics": []},
    ]

    def histories(library):
        layer = library.layers.Dense(1, kernel_initializer="ones")
        model = library.Sequential([library.Input((3,)), layer])
        x = np.arange(12, dtype="float32").reshape(4, 3) / 10
        for arguments in calls:
            model.compile("sgd", **arguments)
            yield model.fit(x, x[:, :1], verbose=0, shuffle=False).history

    for ours, theirs in zip(histories(keras), histories(oracle), strict=True):
        assert list(ours) == list(theirs)
        np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-5)


@pytest.mark.parametrize("none", [[], {}, ()])
def test_an_empty_list_of_metrics_is_none_with_several_outputs(none):
    for library in (keras, oracle):
        x = library.Input((3,))
        outputs = [library.layers.Dense(1, name=name)(x) for name in ("a", "b")]
        model = library.Model(x, outputs)
        model.compile("sgd", "mse", metrics=none, weighted_metrics=none)
        history = model.fit(X, [Y, Y], verbose=0).history
        assert list(history) == ["a_loss", "b_loss", "loss"]


def test_a_second_compile_keeps_the_loss_unless_calls_add_losses():
    class Penalty(keras.layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x))
            return x

    x = np.ones((4, 2), "float32")
    for layer, adds in ((keras.layers.Dense(2, kernel_regularizer="l2"), False), (Penalty(), True)):
        model = keras.Sequential([keras.Input((2,)), layer])
        model.compile("sgd", "mse")
        model.fit(x, x, verbose=0)
        model.compile("sgd")
        assert model.loss == (None if adds else "mse")
        if adds:
            assert model.fit(x, x, verbose=0).history["loss"] == [8.0]
