"""One model or layer that several threads use: called, built, traced, trained and changed."""

import asyncio
import functools
import threading

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.threads.together import together
from tfkit import layers
from tfkit.src.base.calls import current_frame
from tfkit.src.base.watching import StateWatch

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")


class Counted(layers.Layer):
    """Notes each run of its Python code."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3, activity_regularizer="l2")
        self._runs = []
        self._note = self._runs.append  # A list that `call` changes itself would keep it eager.

    def call(self, inputs):
        self._note(1)
        return self.dense(inputs)


class InTwoParts(layers.Layer):
    """Its weights are made with a break between them, in which other threads get their turn."""

    pause = threading.Event()

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1], 3), name="kernel")
        self.pause.wait(0.01)
        self.bias = self.add_weight((3,), name="bias")

    def call(self, inputs):
        return tf.matmul(inputs, self.kernel) + self.bias


def test_direct_calls_from_eight_threads_while_another_model_trains():
    served = Counted()
    rows = [tf.constant(X[index : index + 2]) for index in range(8)]
    expected = [served(row).numpy() for row in rows]
    runs = len(served._runs)
    trained = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(8), layers.Dense(1)])
    trained.compile("adam", "mse")
    calls_are_over = threading.Event()

    def call(index):
        return [served(rows[index]).numpy() for _ in range(100)]

    def train():
        while not calls_are_over.is_set():
            trained.fit(X, X[:, :1], batch_size=4, epochs=2, verbose=0)

    trainer = threading.Thread(target=train, daemon=True)
    trainer.start()
    try:
        found = together(*(functools.partial(call, index) for index in range(8)))
    finally:
        calls_are_over.set()
        trainer.join(60)
    for outputs, wanted in zip(found, expected, strict=True):
        assert all(np.array_equal(output, wanted) for output in outputs)
    assert len(served._runs) == runs


def test_threads_that_want_the_same_trace_make_it_once():
    layer = Counted()
    layer(X)
    together(*[lambda: layer(X)] * 8)
    assert len(layer._runs) == 2
    model = tfkit.Sequential([tfkit.Input((4,)), layer])
    runs = len(layer._runs)
    predicted = together(*[lambda: model.predict(X, verbose=0)] * 8)
    assert all(np.array_equal(predicted[0], other) for other in predicted)
    assert len(layer._runs) == runs + 1


@pytest.mark.parametrize("first", ["call", "build"])
def test_one_layer_is_built_once(first):
    for _ in range(3):
        layer = InTwoParts()
        begin = {"call": lambda: layer(X), "build": lambda: layer.build((None, 4))}[first]  # noqa: B023
        together(*[begin] * 8)
        assert [weight.shape for weight in layer.weights] == [(4, 3), (3,)]
        assert len(layer._tfkit.weights) == 2


def test_one_model_and_models_with_a_layer_in_common_are_built_once():
    for _ in range(3):
        shared = InTwoParts()
        models = [tfkit.Sequential([shared, InTwoParts()]) for _ in range(4)]
        outputs = together(*(functools.partial(model, X) for model in models * 2))
        assert len(shared._tfkit.weights) == 2
        for index, model in enumerate(models):
            assert len(model.weights) == 4
            np.testing.assert_array_equal(outputs[index], outputs[index + 4])


def test_what_a_failed_first_call_has_built_is_never_used():
    """The call that fails is first, and is at work while the others come."""
    began, may_fail = threading.Event(), threading.Event()

    class Failing(layers.Layer):
        def build(self, input_shape):
            self.kernel = self.add_weight((input_shape[-1], 3), name="kernel")

        def call(self, inputs):
            if not began.is_set():
                began.set()
                may_fail.wait(5)
                raise RuntimeError("at first")
            return tf.matmul(inputs, self.kernel)

    layer = Failing()

    def fail():
        with pytest.raises(RuntimeError, match="at first"):
            layer(X)

    def call():
        began.wait(5)
        threading.Timer(0.05, may_fail.set).start()
        return layer(X)

    _, outputs = together(fail, call)
    np.testing.assert_allclose(outputs, X @ layer.kernel.numpy(), rtol=1e-5, atol=1e-6)
    assert len(layer.weights) == 1


def test_inputs_of_other_floats_are_left_as_they_are_in_every_thread():
    """The model passes float64 on; no call may change for another whether floats are cast."""
    inputs = tfkit.Input((1,), dtype="float64")
    model = tfkit.Model(inputs, tfkit.ops.cast((inputs - 1.0) * 2.0**40, "float32"))
    x = np.array([[1 + 2.0**-40]])

    def call():
        return {float(model(x)[0, 0]) for _ in range(100)}

    assert set.union(*together(*[call] * 8)) == {1.0}
    assert model.autocast


def test_losses_are_those_of_the_latest_call_in_the_thread():
    layer = Counted()
    layer(X)

    def check(index):
        for scale in range(30):
            outputs = layer(tf.fill((2, 4), float(index + scale)))
            (loss,) = layer.losses
            np.testing.assert_allclose(loss, 0.01 * np.sum(np.square(outputs)) / 2, rtol=1e-5)

    together(*(functools.partial(check, index) for index in range(8)))


def test_losses_can_be_read_in_another_thread_than_that_of_the_call():
    layer = Counted()
    (outputs,) = together(lambda: layer(X))
    (loss,) = layer.losses
    np.testing.assert_allclose(loss, 0.01 * np.sum(np.square(outputs)) / 16, rtol=1e-5)


def test_a_step_that_is_traced_takes_no_losses_of_direct_calls():
    """Else the penalty of training would be a constant that another thread has computed."""
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(3, activity_regularizer="l2")])
    start = model.get_weights()

    def train(*others):
        model.set_weights(start)
        model.compile(
            tfkit.optimizers.SGD(0.1), loss=None
        )  # The penalty is all there is to minimize.
        is_over = threading.Event()

        def call():
            while not is_over.is_set():
                model(X[:2])

        def fit():
            try:
                return model.fit(X, batch_size=16, shuffle=False, verbose=0).history["loss"]
            finally:
                is_over.set()

        return together(fit, *[call] * others[0])[0], model.get_weights()

    alone, crowded = train(0), train(4)
    assert alone[0] == crowded[0]
    for one, other in zip(alone[1], crowded[1], strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.any(one != 0) or one.ndim == 1


def test_threads_that_evaluate_one_model_take_turns():
    """They share its metrics, which would hold the batches of all."""
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    targets = [X[:, :1] * scale for scale in range(8)]

    def evaluate(index):
        return model.evaluate(X, targets[index], batch_size=4, verbose=0)

    expected = [evaluate(index) for index in range(8)]
    for _ in range(3):
        assert expected == together(*(functools.partial(evaluate, i) for i in range(8)))


def test_updates_by_one_optimizer_in_several_threads_do_not_mix():
    variables = [tf.Variable(tf.zeros(3)) for _ in range(4)]
    optimizer = tfkit.optimizers.Adam(0.1)
    optimizer.build(variables)

    def update(variable):
        for _ in range(20):
            optimizer.apply([tf.ones(3)], [variable])

    together(*(functools.partial(update, variable) for variable in variables))
    assert int(optimizer.iterations) == 80
    assert all(np.all(variable.numpy() < -1) for variable in variables)


# --- Changes of attributes ----------------------------------------------------------------------------


def test_a_change_in_another_thread_while_a_trace_is_made_makes_it_stale():
    layer = layers.Dense(3)
    layer(X)
    watch = StateWatch(frozen=True)
    with watch:
        layer._tfkit.begin_call(1)
        together(lambda: setattr(layer, "rate", 0.5))
    assert not watch.unchanged()
    assert watch.change() == "the attribute `rate` of a Dense was set"


def test_changes_that_a_trace_makes_itself_are_part_of_it():
    layer = layers.Dense(3)
    layer(X)
    watch = StateWatch()
    with watch:
        layer._tfkit.begin_call(1)
        layer.rate = 0.5
        with StateWatch() as inner:
            layer._tfkit.begin_call(1)
            layer.rate = 0.25
    assert watch.unchanged()
    assert inner.unchanged()
    together(lambda: setattr(layer, "rate", 1.0))
    assert not watch.unchanged()
    assert not inner.unchanged()


def test_no_change_is_missed_while_others_are_made():
    """The watch compares while a thread changes another layer all the time."""
    watched, other = layers.Dense(3), layers.Dense(3)
    with StateWatch() as watch:
        watched._tfkit.begin_call(1)
    assert watch.unchanged()

    def change():
        for step in range(3000):
            other.step = step
        watched.step = 0

    def look():
        for _ in range(3000):
            watch.unchanged()

    together(change, look, look)
    assert not watch.unchanged()


# --- The call context -----------------------------------------------------------------------------------


def test_a_task_that_is_made_inside_a_call_does_not_run_inside_it():
    frames = []

    async def note():
        frames.append(current_frame())

    class Starting(layers.Layer):
        def call(self, inputs):
            frames.append(current_frame())
            tasks.append(asyncio.ensure_future(note()))
            return inputs

    tasks = []

    async def main():
        Starting()(X)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    inside, after = frames
    assert inside is not None
    assert after is None


def test_tasks_have_scopes_of_custom_objects_of_their_own():
    async def look(value):
        with tfkit.saving.custom_object_scope({"name": value}):
            await asyncio.sleep(0)
            return tfkit.saving.get_registered_object("name")

    async def main():
        return await asyncio.gather(*map(look, range(5)))

    assert asyncio.run(main()) == list(range(5))
    assert tfkit.saving.get_registered_object("name") is None


def test_the_dict_of_custom_objects_is_the_process_s_and_a_scope_comes_before_it():
    objects = tfkit.saving.get_custom_objects()
    objects["name"] = "of the process"
    try:
        find = functools.partial(tfkit.saving.get_registered_object, "name")
        assert together(find) == [find()] == ["of the process"]
        with tfkit.saving.custom_object_scope({"name": "of the scope"}):
            assert find() == "of the scope"
            assert together(find) == ["of the process"]
            objects["other"] = 1
        assert find() == "of the process"
        assert objects["name"] == "of the process"
    finally:
        del objects["name"], objects["other"]
