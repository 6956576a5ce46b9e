"""Control flow on tensors in a user's code, in whatever function it stands."""

import contextlib
import functools
import importlib
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine import autograph


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


class ByMode(keras.layers.Layer):
    """Branches on a tensor in training only, where shapes alone do not show it."""

    def __init__(self):
        super().__init__()
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x, training=False):
        if training:
            x = positive(x)
        return x * self.scale


class Inside(keras.layers.Layer):
    """Has a layer inside, and no branch itself."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x):
        return self.inner(x) + 0


def conversions(monkeypatch):
    found = []
    convert = autograph.convert_by_autograph
    monkeypatch.setattr(
        autograph, "convert_by_autograph", lambda it: found.append(it.__qualname__) or convert(it)
    )
    return found


def test_what_branches_on_python_values_alone_is_not_converted(monkeypatch):
    found = conversions(monkeypatch)

    class Plain(keras.layers.Layer):
        def call(self, x, training=False):
            return x + 1 if training else x

    layer = Plain()
    model = keras.Sequential([keras.Input((1,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0)
    model.predict(np.ones((2, 1)), verbose=0)
    layer(np.ones((2, 1)))
    layer(np.ones((2, 1)))
    assert not found


@pytest.mark.parametrize("wrap", [lambda layer: layer, Inside], ids=["alone", "inside"])
def test_a_branch_that_only_a_step_has(wrap, monkeypatch):
    found = conversions(monkeypatch)
    x = np.array([[-1.0, -2.0]])
    model = keras.Sequential([keras.Input((2,)), wrap(ByMode())])
    model.compile("sgd", "mae")
    assert not found or "ByMode.call" in found
    assert model.fit(x, -x, verbose=0).history["loss"] == [0]
    assert "ByMode.call" in found
    np.testing.assert_array_equal(model.predict(x, verbose=0), x)
    compiled = tf.function(lambda x: model(x, training=True), autograph=False)
    np.testing.assert_array_equal(compiled(x), -x)


class Catching(keras.layers.Layer):
    def tried(self, x):
        try:
            return positive(x)
        except TypeError:
            return x

    def call(self, x):
        return self.tried(x)


class Suppressing(keras.layers.Layer):
    def call(self, x):
        with contextlib.suppress(TypeError):
            return positive(x)
        return x


@pytest.mark.parametrize("kind", [Catching, Suppressing])
def test_what_may_catch_the_error_is_converted(kind):
    model = keras.Sequential([keras.Input((1,)), kind()])
    np.testing.assert_array_equal(model.predict(np.full((2, 1), -1.0), verbose=0), 1)


@pytest.mark.parametrize("source", ["elements.mapped(x)", "elements.deeper.mapped(x)"])
def test_a_loop_in_a_function_of_a_module_is_seen(source, tmp_path, monkeypatch):
    (tmp_path / "loops_of_a_module.py").write_text(
        "import tensorflow as tf\n\ndef mapped(x):\n    return tf.map_fn(lambda row: row, x)\n"
    )
    (tmp_path / "calls_of_a_module.py").write_text(
        "import loops_of_a_module as elements\n\n"
        f"elements.deeper = elements\n\ndef call(x):\n    return {source}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("loops_of_a_module", "calls_of_a_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    call = importlib.import_module("calls_of_a_module").call
    assert autograph._catches(call, object)


def test_an_error_of_a_user_is_shown():
    class Wrong(keras.layers.Layer):
        def call(self, x):
            return x + tf.constant("one")

    with pytest.raises(TypeError, match="string"):
        keras.Sequential([keras.Input((1,)), Wrong()])


def test_a_loop_over_elements_leaves_nothing_behind():
    """After an error in `tf.map_fn`, no strategy could make variables."""

    class Mapping(keras.layers.Layer):
        def call(self, x):
            return tf.map_fn(positive, x)

    keras.Sequential([keras.Input((1,)), Mapping()])
    with tf.distribute.MirroredStrategy(["cpu:0"]).scope():
        assert keras.Variable(1.0).shape == ()
