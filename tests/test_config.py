"""Settings of the process, and the modules that give them under further names."""

import traceback

import keras
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.base import settings


def depth_of_a_failing_op():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    return len(traceback.extract_tb(caught.value.__traceback__))


def test_traceback_filtering_hides_the_frames_of_tensorflow():
    assert tfkit.config.is_traceback_filtering_enabled()
    filtered = depth_of_a_failing_op()
    tfkit.config.disable_traceback_filtering()
    try:
        assert not tfkit.config.is_traceback_filtering_enabled()
        assert depth_of_a_failing_op() > filtered
    finally:
        tfkit.config.enable_traceback_filtering()
    assert depth_of_a_failing_op() == filtered


def test_further_names_are_the_same_objects():
    assert tfkit.mixed_precision.Policy is tfkit.DTypePolicy is tfkit.FloatDTypePolicy
    assert tfkit.mixed_precision.set_global_policy is tfkit.config.set_dtype_policy
    assert tfkit.mixed_precision.LossScaleOptimizer is tfkit.optimizers.LossScaleOptimizer
    assert tfkit.backend.set_floatx is tfkit.config.set_floatx


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "bfloat16",
        "int32",
        "uint8",
        "bool",
        "string",
        "complex64",
        float,
        int,
        "int",
        bool,
        str,
        None,
    ],
)
def test_kinds_of_dtypes_are_those_of_keras(dtype):
    assert tfkit.backend.is_float_dtype(dtype) == keras.backend.is_float_dtype(dtype)
    assert tfkit.backend.is_int_dtype(dtype) == keras.backend.is_int_dtype(dtype)
    assert tfkit.backend.standardize_dtype(dtype) == keras.backend.standardize_dtype(dtype)


def test_a_dtype_of_tensorflow_is_itself_under_another_float_type():
    keras.config.set_floatx("float64")
    tfkit.config.set_floatx("float64")
    try:
        for dtype in (tf.float32, tf.float64, tf.int64, None):
            expected = keras.backend.standardize_dtype(dtype)
            assert tfkit.backend.standardize_dtype(dtype) == expected
    finally:
        keras.config.set_floatx("float32")
        tfkit.config.set_floatx("float32")


def test_get_uid_counts_as_keras_counts():
    for library in (tfkit, keras):
        library.backend.clear_session()
        assert [library.backend.get_uid("dense") for _ in range(2)] == [1, 2]
        assert library.layers.Dense(1).name == "dense_2"
        assert library.backend.get_uid() == 1


def test_custom_object_scope_is_a_class_name_in_old_programs():
    with tfkit.saving.CustomObjectScope({"double": lambda x: 2 * x}):
        assert tfkit.activations.get("double")(2) == 4


LIMITS = {"max_epochs": "KERAS_MAX_EPOCHS", "max_steps_per_epoch": "KERAS_MAX_STEPS_PER_EPOCH"}


@pytest.fixture
def limits():
    yield
    for keras_ in (tfkit, keras):
        keras_.config.set_max_epochs(None)
        keras_.config.set_max_steps_per_epoch(None)


@pytest.mark.parametrize("keras", [tfkit, keras])
def test_limits_hold_for_fit_evaluate_and_predict(keras, limits):
    seen = {"train": 0, "test": 0, "predict": 0}

    class Count(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen["train"] += 1

        def on_test_batch_end(self, batch, logs=None):
            seen["test"] += 1

        def on_predict_batch_end(self, batch, logs=None):
            seen["predict"] += 1

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, quiet = tf.ones((12, 1)), {"batch_size": 2, "verbose": 0, "callbacks": [Count()]}

    def run():
        validation = {"validation_data": (x, x), "validation_batch_size": 2}
        assert model.fit(x, x, epochs=5, **validation, **quiet).epoch == [0, 1]
        model.evaluate(x, x, **quiet)
        assert model.predict(x, **quiet).shape == (6, 1)

    keras.config.set_max_epochs(2)
    keras.config.set_max_steps_per_epoch(3)
    with pytest.warns(UserWarning, match="Limiting") as caught:
        run()
    assert seen == {"train": 6, "test": 9, "predict": 3}
    messages = [str(it.message) for it in caught]
    assert sum(message.startswith("Limiting epochs to 2") for message in messages) == 1
    assert sum(message.startswith("Limiting steps_per_epoch to 3") for message in messages) >= 4


def test_limits_that_are_not_reached_change_nothing(limits):
    model = tfkit.Sequential([tfkit.Input((1,)), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    tfkit.config.set_max_epochs(2)
    tfkit.config.set_max_steps_per_epoch(3)
    x = tf.ones((5, 1))
    assert model.fit(x, x, epochs=2, batch_size=2, verbose=0).epoch == [0, 1]
    assert len(list(model.predict(x, batch_size=2, stream=True))) == 3
    with pytest.warns(UserWarning, match=r"Limiting steps_per_epoch to 3.* Received: 5"):
        assert len(list(model.predict(x, batch_size=1, stream=True))) == 3


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_positive_integers(name, limits):
    setter, getter = getattr(tfkit.config, f"set_{name}"), getattr(tfkit.config, name)
    setter(3)
    for wrong in (0, -1, 2.5, "2"):
        with pytest.raises(ValueError, match=f"`{name}` must be a positive integer or None"):
            setter(wrong)
    assert getter() == 3
    setter(None)
    assert getter() is None


def test_limits_come_from_the_environment(monkeypatch, limits):
    for name, variable in LIMITS.items():
        monkeypatch.setenv(variable, "7")
        settings._limits_of_environment()
        assert getattr(tfkit.config, name)() == 7
        monkeypatch.setenv(variable, "many")
        with pytest.raises(ValueError, match=rf"{variable}.* must be a positive integer"):
            settings._limits_of_environment()
        monkeypatch.delenv(variable)


def test_switches_of_other_engines_say_what_holds_here():
    for switch in ("disable_flash_attention", "enable_flash_attention"):
        for keras_ in (tfkit, keras):
            getattr(keras_.config, switch)()
        ours, theirs = (it.config.is_flash_attention_enabled() for it in (tfkit, keras))
        assert ours is theirs
    tfkit.config.set_backend("tensorflow")
    assert not tfkit.config.is_nnx_enabled()
    with pytest.raises(ValueError, match=r"TensorFlow alone.* Received: 'jax'"):
        tfkit.config.set_backend("jax")


@pytest.mark.parametrize(
    "kind",
    ["activations", "constraints", "initializers", "losses", "metrics", "regularizers"],
)
def test_nothing_is_the_configuration_of_nothing(kind):
    """As in Keras; layers and optimizers are refused."""
    assert getattr(keras, kind).deserialize(None) is None
    assert getattr(tfkit, kind).deserialize(None) is None
    with pytest.raises(ValueError, match=r"Expected a configuration of tfkit\.layers"):
        tfkit.layers.deserialize(None)


def test_a_model_is_a_layer_in_configurations():
    inputs = tfkit.Input((3,))
    functional = tfkit.Model(inputs, tfkit.layers.Dense(2)(inputs))
    for model in (functional, tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])):
        again = tfkit.layers.deserialize(tfkit.layers.serialize(model))
        assert type(again) is type(model)
        assert again.output_shape == (None, 2)
