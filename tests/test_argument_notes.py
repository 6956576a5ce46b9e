"""What a function was given, in errors that TensorFlow raises in it."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import ops

F = np.ones
Refused = tf.errors.InvalidArgumentError


def symbolic(*shape):
    return tfkit.KerasTensor(shape)


@pytest.mark.parametrize(
    ("call", "kind", "note"),
    [
        (
            lambda: ops.matmul(symbolic(2, 8), symbolic(3, 7)),
            ValueError,
            "`matmul`: x1.shape=(2, 8), x2.shape=(3, 7)",
        ),
        (
            lambda: ops.concatenate([symbolic(None, 8), symbolic(None, 7, 1)], axis=0),
            ValueError,
            "`concatenate`: xs of the shapes (None, 8), (None, 7, 1), axis=0",
        ),
        (
            lambda: ops.reshape(F((2, 8)), (3, 7)),
            Refused,
            "`reshape`: x.shape=(2, 8), newshape=(3, 7)",
        ),
        (
            lambda: ops.layer_normalization(F((2, 8, 16), "f"), F((8,), "f")),
            Refused,
            "`layer_normalization`: x.shape=(2, 8, 16), gamma.shape=(8,)",
        ),
        (lambda: ops.multiply([1, 2, 3], [1, 2]), Refused, "`multiply`: x1=[1, 2, 3], x2=[1, 2]"),
        (lambda: ops.erf(F(2, "int32")), Refused, "`erf`: x.shape=(2,), x.dtype=int32"),
        (lambda: ops.outer(F(2), None), ValueError, "`outer`: x1.shape=(2,), x2=None"),
        (lambda: symbolic(2, 8) @ symbolic(3, 7), ValueError, "`matmul`: x1.shape=(2, 8), x2"),
        # A function and a long value are left out; the op in the function has its own line.
        (
            lambda: ops.map(lambda x: ops.reshape(x, (5,)), F((3, 2))),
            Refused,
            "`reshape`: x.shape=(2,), newshape=(5,)",
        ),
        (
            lambda: ops.add(list(range(99)), F(2)),
            Refused,
            "`add`: x2.shape=(2,)",
        ),
    ],
)
def test_errors_of_tensorflow_tell_the_arguments(call, kind, note):
    with pytest.raises(kind) as info:
        call()
    assert str(info.value).count("\nReceived by ") == 1
    assert f"\nReceived by {note}" in str(info.value)


def refused_model():
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (lambda: tfkit.layers.Hashing("a"), "`Hashing`: num_bins='a'"),
        (
            lambda: tfkit.optimizers.LossScaleOptimizer("a"),
            "`LossScaleOptimizer`: inner_optimizer='a'",
        ),
        (lambda: refused_model().get_layer(index="a"), "`get_layer`: index='a'"),
        (lambda: refused_model().summary(line_length="a"), "`summary`: line_length='a'"),
        (
            lambda: refused_model().compile(tfkit.layers.Dense),
            "`compile`: optimizer=Dense, a class where an object may be meant",
        ),
        (lambda: tfkit.layers.StringLookup().set_vocabulary(3), "`set_vocabulary`: vocabulary=3"),
        (lambda: tfkit.callbacks.TensorBoard({}), "`TensorBoard`: log_dir of type dict"),
        (lambda: tfkit.distribution.DeviceMesh(3, ["a"]), "`DeviceMesh`: shape=3, axis_names="),
        (lambda: tfkit.random.randint((2,), 0, 1.5), "`randint`: shape=(2,), minval=0, maxval=1.5"),
    ],
)
def test_errors_of_python_tell_the_arguments(call, note):
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        call()
    assert f"\nReceived by {note}" in str(caught.value)


def test_errors_of_tfkit_are_left_as_they_are():
    with pytest.raises(ValueError, match=r"Received: x\.shape") as info:
        ops.det(F((2, 3)))
    assert "Received by" not in str(info.value)


def test_the_op_in_a_layer_of_the_users_is_named():
    class Halves(tfkit.Layer):
        def call(self, x):
            return ops.reshape(x, (-1, 2))

    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Flatten()])
    with pytest.raises(
        ValueError, match=r"Received by `reshape`: x.shape=\(1, 3\), newshape=\(-1, 2\)"
    ):
        tf.function(Halves())(tf.ones((1, 3)))
    model.compile("sgd", lambda y, p: ops.matmul(p, ops.ones((4, 2))))
    with pytest.raises(
        ValueError, match=r"Received by `matmul`: x1.shape=\(.*, 3\), x2.shape=\(4, 2\)"
    ):
        model.fit(F((5, 3)), F((5, 3)), verbose=0)


def test_without_filters_the_message_is_that_of_tensorflow():
    tfkit.config.disable_traceback_filtering()
    try:
        with pytest.raises(Refused) as info:
            ops.reshape(F((2, 8)), (3, 7))
    finally:
        tfkit.config.enable_traceback_filtering()
    assert "Received by" not in str(info.value)
