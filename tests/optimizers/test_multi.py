"""`MultiOptimizer` and `OptimizerMap` beside Keras's."""

import copy

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
BOTH = [tfkit, oracle]
X = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def several(keras, **options):
    optimizers = keras.optimizers
    known = optimizers.OptimizerMap(
        optimizers.SGD(0.1, momentum=0.5),
        {".*first/.*": optimizers.Adam(0.05), ".*out/bias": optimizers.RMSprop(0.02)},
    )
    return optimizers.MultiOptimizer(known, **options)


def model_with(keras, optimizer, **options):
    dense, ones = keras.layers.Dense, {"kernel_initializer": "ones"}
    model = keras.Sequential(
        [
            keras.Input((2,)),
            dense(3, name="first", activation="tanh", **ones),
            dense(1, name="out", **ones),
        ]
    )
    model.compile(optimizer, "mse", **options)
    return model


class Named:
    def __init__(self, path):
        self.path = path


@pytest.mark.parametrize("keras", BOTH)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("first/kernel", "a"),
        ("model/first/kernel", "default"),
        ("exact", "b"),
        ("exact/kernel", "default"),
        ("first", "default"),
        ("other", "default"),
    ],
)
def test_a_map_finds_an_optimizer_by_its_path(keras, path, expected):
    default, a, b = (keras.optimizers.SGD(name=name) for name in ("default", "a", "b"))
    known = keras.optimizers.OptimizerMap(default, {"first/.*": a, "exact": b})
    assert known(Named(path)).name == expected
    assert known[path].name == expected
    assert list(known) == ["first/.*", "exact"]
    assert known.default_optimizer is default


@pytest.mark.parametrize("keras", BOTH)
def test_a_map_refuses_what_it_could_not_use(keras):
    sgd = keras.optimizers.SGD
    known = keras.optimizers.OptimizerMap(sgd(), {".*kernel": sgd(), "dense.*": sgd()})
    for key, optimizer in ((3, sgd()), ("x", "sgd"), (".*kernel", sgd())):
        with pytest.raises(ValueError, match=r"must be|already exists"):
            known[key] = optimizer
    with pytest.raises(ValueError, match=r"[Mm]ultiple|several"):
        known["dense/kernel"]
    with pytest.raises(TypeError, match="default_optimizer"):
        keras.optimizers.OptimizerMap("sgd")
    del known["dense.*"]
    assert known["dense/kernel"] is known[".*kernel"]


@pytest.mark.parametrize("options", [{}, {"loss_scale_factor": 8.0}])
@pytest.mark.parametrize("eager", [False, True])
def test_training_is_that_of_keras(options, eager):
    ours, theirs = (
        model_with(keras, several(keras, **options), run_eagerly=eager) for keras in BOTH
    )
    losses = [
        model.fit(X, Y, batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"]
        for model in (ours, theirs)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    for weight, expected in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-6)
    for model in (ours, theirs):
        assert int(model.optimizer.iterations) == 6
        assert [int(part.iterations) for part in model.optimizer.optimizers] == [6, 6, 6]
        kinds = [type(part).__name__ for part in model.optimizer.optimizers]
        assert kinds == ["Adam", "RMSprop", "SGD"]


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_files_keep_all_states(suffix, tmp_path):
    model = model_with(tfkit, several(tfkit))
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    model.save(tmp_path / f"model{suffix}")
    loaded = tfkit.models.load_model(tmp_path / f"model{suffix}")
    for ours, expected in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), expected.numpy(), err_msg=expected.path)
    losses = [
        it.fit(X, Y, batch_size=4, shuffle=False, verbose=0).history for it in (loaded, model)
    ]
    assert losses[0] == losses[1]


@pytest.mark.filterwarnings("ignore:Skipping variable loading")
@pytest.mark.parametrize(("writer", "reader"), [BOTH, BOTH[::-1]])
def test_files_go_both_ways(writer, reader, tmp_path):
    model = model_with(writer, several(writer))
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    path = str(tmp_path / "model.keras")
    model.save(path)
    loaded = reader.models.load_model(path)
    for ours, theirs in zip(loaded.optimizer.optimizers, model.optimizer.optimizers, strict=True):
        for one, other in zip(ours.variables, theirs.variables, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_copies_go_on_from_the_same_state():
    model = model_with(tfkit, several(tfkit))
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    again = copy.deepcopy(model)
    assert again.optimizer.optimizers[0] is not model.optimizer.optimizers[0]
    losses = [it.fit(X, Y, batch_size=4, shuffle=False, verbose=0).history for it in (again, model)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("keras", BOTH)
def test_a_function_may_choose(keras):
    fast, slow = keras.optimizers.SGD(1.0), keras.optimizers.SGD(0.1)
    optimizer = keras.optimizers.MultiOptimizer(lambda v: fast if v.name == "a" else slow)
    a, b = (keras.Variable([1.0, 1.0], name=name) for name in "ab")
    optimizer.build([a, b])
    optimizer.apply([tf.constant([0.5, 0.5])] * 2, [a, b])
    np.testing.assert_allclose(a.numpy(), [0.5, 0.5])
    np.testing.assert_allclose(b.numpy(), [0.95, 0.95])
    assert [it is part for it, part in zip(optimizer.optimizers, (fast, slow), strict=True)] == [
        True
    ] * 2


def test_gradients_that_are_missing_update_nothing():
    optimizer = several(tfkit)
    first, other = (tfkit.Variable(1.0, name=name) for name in ("first", "other"))
    optimizer.build([first, other])
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        optimizer.apply([None, tf.constant(1.0)])
    assert float(first) == 1.0
    assert float(other) == pytest.approx(0.9)


@pytest.mark.parametrize("keras", BOTH)
def test_learning_rates_are_those_inside(keras):
    optimizer = several(keras)
    model = model_with(keras, optimizer)
    with pytest.raises(AttributeError):
        optimizer.learning_rate  # noqa: B018
    with pytest.raises(AttributeError):
        optimizer.learning_rate = 0.1
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[halve])
    rates = [float(part.learning_rate.numpy()) for part in optimizer.optimizers]
    np.testing.assert_allclose(rates, [0.0125, 0.005, 0.025], rtol=1e-6)


@pytest.mark.parametrize("keras", BOTH)
def test_optimizers_that_hold_others_are_refused_inside(keras):
    optimizers = keras.optimizers
    sgd = optimizers.SGD()
    known = optimizers.OptimizerMap(sgd)
    for inside in (optimizers.LossScaleOptimizer(sgd), optimizers.MultiOptimizer(known)):
        with pytest.raises(ValueError, match="cannot be"):
            known["x"] = inside


@pytest.mark.parametrize("clipping", [{}, {"clipnorm": 0.1}, {"global_clipnorm": 0.1}])
def test_a_scaled_loss_and_clipping_give_the_weights_of_keras(clipping):
    weights = []
    for keras in BOTH:
        optimizers = keras.optimizers
        inside = {".*first/.*": optimizers.SGD(0.5, **clipping)}
        known = optimizers.OptimizerMap(optimizers.SGD(0.1, clipvalue=0.05), inside)
        wrapped = optimizers.LossScaleOptimizer(optimizers.MultiOptimizer(known), 8.0)
        model = model_with(keras, wrapped)
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for ours, theirs in zip(*weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_averages_are_swapped_for_the_weights_of_their_optimizer():
    averaged = tfkit.optimizers.SGD(0.1, use_ema=True)
    known = tfkit.optimizers.OptimizerMap(tfkit.optimizers.SGD(0.1), {".*first/.*": averaged})
    model = model_with(tfkit, tfkit.optimizers.MultiOptimizer(known))
    model.train_on_batch(X, Y)
    averages = [average.numpy() + 1 for _, average in averaged._tfkit_averaged()]
    for (_, average), value in zip(averaged._tfkit_averaged(), averages, strict=True):
        average.assign(value)
    before = model.get_weights()
    swap = tfkit.callbacks.SwapEMAWeights()
    swap.set_model(model)
    swap.on_test_begin()
    for weight, expected in zip(model.get_weights(), [*averages, *before[2:]], strict=True):
        np.testing.assert_array_equal(weight, expected)
    swap.on_test_end()
    for weight, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_what_is_no_map_is_refused():
    with pytest.raises(TypeError, match="`optimizer_map` must be an OptimizerMap, or a function"):
        tfkit.optimizers.MultiOptimizer(3)
    wrong = tfkit.optimizers.MultiOptimizer(lambda variable: "sgd")
    with pytest.raises(TypeError, match="must return an optimizer for each variable"):
        wrong.build([tfkit.Variable(1.0)])
    assert not wrong.built


@pytest.mark.parametrize("keras", BOTH)
def test_variables_are_stored_by_number(keras):
    first, second = (keras.optimizers.SGD(rate, momentum=0.9) for rate in (0.1, 0.2))
    for optimizer in (first, second):
        optimizer.build([keras.Variable([1.0, 2.0])])
    store = {}
    first.save_own_variables(store)
    assert list(store) == ["0", "1", "2"]
    second.load_own_variables(store)
    assert float(second.learning_rate.numpy()) == pytest.approx(0.1)


def test_variables_of_another_number_are_refused():
    optimizer = tfkit.optimizers.SGD(0.1)
    optimizer.build([])
    with pytest.raises(ValueError, match="has 2 variables"):
        optimizer.load_own_variables({"0": 1})
