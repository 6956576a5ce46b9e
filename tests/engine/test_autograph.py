"""Control flow on tensors in a user's code, in whatever function it stands."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras


def halved(x):
    """Halves until the sum is below one."""
    while tf.reduce_sum(x) > 1:
        x = x / 2
    return x


def positive(x):
    """Has one branch that returns."""
    if tf.reduce_sum(x) > 0:
        return x
    return -x


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 0.0

    return wrapper


class Base(keras.layers.Layer):
    def twice(self, x):
        return positive(x) * 2

    @classmethod
    def of_class(cls, x):
        return positive(x)

    def call(self, x):
        return positive(x)


class BySuper(Base):
    def call(self, x):
        return super().call(x)


class ByMethod(Base):
    def call(self, x):
        return self.twice(x) / 2


class ByClass(Base):
    def call(self, x):
        return self.of_class(x)


class ByClosure(Base):
    def call(self, x):
        sign = tf.constant(-1.0)

        def inner(y):
            if tf.reduce_sum(y) < 0:
                y = y * sign
            return y

        return inner(x)


class ByLambda(Base):
    def call(self, x):
        return (lambda y: y if tf.reduce_sum(y) > 0 else -y)(x)


class ByComprehension(Base):
    def call(self, x):
        return sum([positive(y) for y in (x, x)]) / 2


class ByDecorator(Base):
    def call(self, x):
        return decorated(positive)(x)


class ByPartial(Base):
    def call(self, x):
        return functools.partial(positive, x)()


class ByMap(Base):
    def call(self, x):
        return tf.map_fn(positive, x[None])[0]


@pytest.mark.parametrize("kind", Base.__subclasses__(), ids=lambda kind: kind.__name__)
def test_a_branch(kind):
    model = keras.Sequential([keras.Input((2,)), kind()])
    np.testing.assert_array_equal(model.predict(np.array([[-1.0, -2.0]]), verbose=0), [[1, 2]])
    np.testing.assert_array_equal(model.predict(np.array([[1.0, 2.0]]), verbose=0), [[1, 2]])


def test_loops_and_what_is_done_once():
    calls = []

    class Loops(keras.layers.Layer):
        def call(self, x):
            calls.append(not tf.executing_eagerly())
            for _ in tf.range(2):
                x = x + 1
            return halved(x)

    model = keras.Sequential([keras.Input((1,)), Loops()])
    calls.clear()
    np.testing.assert_array_equal(model.predict(np.array([[2.0]]), verbose=0), [[1]])
    assert calls == [True]


def test_a_function_without_source_has_no_control_flow_on_tensors():
    names = {"tf": tf}
    exec("def call(x):\n    return x if tf.reduce_sum(x) > 0 else -x", names)
    with pytest.raises(TypeError, match="symbolic"):
        keras.layers.Lambda(names["call"])(keras.Input((2,)))
