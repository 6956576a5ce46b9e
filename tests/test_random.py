"""Draws: Keras's numbers for Keras's seeds, eagerly, in a graph and as far as XLA can."""

import functools
import random as python_random

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.base.registry import serialization
from tfkit.src.engine import dataset_functions, philox
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.variable_values import not_constant
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.weights import random

LOGITS = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 0.5]], "float32")
DRAWS = {
    "normal": ((4, 3), {"mean": 1.0, "stddev": 2.0}),
    "truncated_normal": ((4, 3), {"mean": 1.0, "stddev": 2.0}),
    "uniform": ((4, 3), {"minval": -2.0, "maxval": 3.0}),
    "randint": ((4, 3), {"minval": 3, "maxval": 90}),
    "gamma": ((4, 3), {"alpha": [0.5, 2.0, 9.0]}),
    "beta": ((4, 3), {"alpha": 2.0, "beta": [[1.0, 2.0, 3.0]]}),
    "binomial": ((4, 3), {"counts": 10.0, "probabilities": 0.3}),
    "categorical": (LOGITS, {"num_samples": 5}),
    "dropout": (np.ones((4, 3), "float32"), {"rate": 0.4}),
    "shuffle": (np.arange(20).reshape(10, 2), {}),
}
NO_XLA_KERNEL = {"gamma", "beta", "binomial"}
OTHER_NUMBERS_IN_XLA = {"truncated_normal", "categorical"}


@pytest.mark.parametrize("seed", [7, 2**40 + 3])
@pytest.mark.parametrize("name", DRAWS)
def test_equal_seeds_give_keras_numbers(name, seed):
    first, options = DRAWS[name]
    expected = getattr(keras.random, name)(first, **options, seed=seed)
    actual = getattr(random, name)(first, **options, seed=seed)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", [name for name in DRAWS if isinstance(DRAWS[name][0], tuple)])
def test_sizes_may_be_tensors_of_any_integers(name):
    shape, options = DRAWS[name]
    draw = functools.partial(getattr(random, name), **options, seed=7)

    @tf.function(input_signature=[tf.TensorSpec([2], "int64")])
    def drawn(sizes):
        return draw(sizes)

    for sizes in (np.array(shape, "int64"), tf.constant(shape, "int64")):
        for actual in (draw(sizes), drawn(sizes)):
            np.testing.assert_allclose(actual, draw(shape), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_gives_keras_stream_also_in_a_graph(name):
    first, options = DRAWS[name]
    theirs, ours = keras.random.SeedGenerator(5), random.SeedGenerator(5)
    draw = getattr(random, name)
    compiled = tf.function(lambda: draw(first, **options, seed=ours), autograph=False)
    for _ in range(3):
        expected = getattr(keras.random, name)(first, **options, seed=theirs)
        np.testing.assert_allclose(compiled(), expected, rtol=2e-6, atol=1e-6)
    np.testing.assert_array_equal(ours.state, [5, 3])


@pytest.mark.parametrize("name", [name for name in DRAWS if name not in NO_XLA_KERNEL])
def test_draws_compile_under_xla(name):
    first, options = DRAWS[name]
    seeds = random.SeedGenerator(5)
    draw = getattr(random, name)
    compiled = tf.function(
        lambda: draw(first, **options, seed=seeds), autograph=False, jit_compile=True
    )
    a, b = compiled(), compiled()
    assert a.shape == draw(first, **options, seed=1).shape
    assert not np.array_equal(a, b)
    if name not in OTHER_NUMBERS_IN_XLA:
        expected = draw(first, **options, seed=random.SeedGenerator(5))
        np.testing.assert_allclose(a, expected, rtol=2e-6, atol=1e-6)
    if name == "shuffle":
        np.testing.assert_array_equal(np.sort(a, axis=0), first)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 501)])
def test_normals_are_those_of_the_kernel_in_graphs_and_under_xla(shape, dtype):
    seed = tf.constant([1337, 5])

    def draw():
        return philox.normal(shape, seed, dtype)

    expected = tf.cast(draw(), "float64")
    exact = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2e-6, "float64": 1e-14}[dtype]
    for jit_compile in (None, True):
        # As programs of a model run, in which XLA has formulas of its own.
        run = SharedProgram(
            tf.function(draw, autograph=False, jit_compile=jit_compile).get_concrete_function()
        )
        np.testing.assert_allclose(tf.cast(run(), "float64"), expected, rtol=exact, atol=exact)


def test_sine_and_cosine_for_xla_are_exact_to_rounding():
    eighths = np.arange(8, dtype="float32") / 8
    near = [eighths, np.nextafter(eighths, 1), np.nextafter(eighths[1:], 0)]
    turns = np.concatenate([*near, np.linspace(0, 1, 10_001, dtype="float32")[:-1]])
    sine, cosine = philox._circle(turns)
    angle = 2 * np.pi * turns.astype("float64")
    np.testing.assert_allclose(sine, np.sin(angle), rtol=2e-7, atol=1e-15)
    np.testing.assert_allclose(cosine, np.cos(angle), rtol=2e-7, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["normal", "truncated_normal", "uniform", "gamma", "beta"])
def test_dtypes(name, dtype):
    first, options = DRAWS[name]
    expected = getattr(keras.random, name)(first, **options, dtype=dtype, seed=3)
    actual = getattr(random, name)(first, **options, dtype=dtype, seed=3)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(tf.cast(actual, "float64"), tf.cast(expected, "float64"))


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_randint_dtypes(dtype):
    expected = keras.random.randint((9,), 0, 200, dtype=dtype, seed=3)
    actual = random.randint((9,), 0, 200, dtype=dtype, seed=3)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, expected)


def test_unseeded_draws_after_set_random_seed_equal_keras():
    def draws(module, set_random_seed):
        set_random_seed(11)
        results = [module.normal((2, 2)), module.uniform((3,))]
        generator = module.SeedGenerator()
        results += [module.normal((2,), seed=generator) for _ in range(2)]
        results += [module.dropout(tf.ones(20), 0.5), np.random.rand(2), tf.random.normal((2,))]
        return [np.asarray(result) for result in results]

    for actual, expected in zip(
        draws(random, random.set_random_seed),
        draws(keras.random, keras.utils.set_random_seed),
        strict=True,
    ):
        np.testing.assert_array_equal(actual, expected)


def test_unordered_stream_follows_keras():
    theirs, ours = keras.random.SeedGenerator(123456789), random.SeedGenerator(123456789)
    for _ in range(3):
        np.testing.assert_array_equal(ours.next(ordered=False), theirs.next(ordered=False))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("traced_first", [True, False])
def test_a_parallel_map_draws_each_seed_once(ordered, traced_first):
    seeds, count = random.SeedGenerator(5), 50_000
    next_seed = functools.partial(seeds.next, ordered)
    draw = tf.function(next_seed) if traced_first else next_seed
    dataset = tf.data.Dataset.range(count).map(
        lambda _: draw(), num_parallel_calls=4, deterministic=False
    )
    drawn = np.concatenate(list(dataset.batch(1000).as_numpy_iterator()))
    # The stream that jumps comes back to its start after 466,599 draws.
    assert len(np.unique(drawn, axis=0)) == count
    if ordered:
        np.testing.assert_array_equal(np.sort(drawn[:, 1]), np.arange(count))
        np.testing.assert_array_equal(seeds.state, [5, count])


def test_a_map_draws_keras_stream_in_order():
    theirs, ours = keras.random.SeedGenerator(5), random.SeedGenerator(5)
    expected = [keras.random.uniform((2,), seed=theirs) for _ in range(3)]
    drawn = tf.data.Dataset.range(3).map(lambda _: random.uniform((2,), seed=ours))
    assert drawn.element_spec.shape == (2,)
    np.testing.assert_array_equal(list(drawn.as_numpy_iterator()), expected)
    # The next one, outside of the map.
    np.testing.assert_array_equal(
        random.uniform((2,), seed=ours), keras.random.uniform((2,), seed=theirs)
    )


DATASETS = {
    "map": lambda data, function: data.map(function),
    "parallel map": lambda data, function: data.map(function, num_parallel_calls=2),
    "filter": lambda data, function: data.filter(lambda x: function(x) >= 0),
    "flat_map": lambda data, function: data.flat_map(
        lambda x: tf.data.Dataset.from_tensors(function(x))
    ),
    "interleave": lambda data, function: data.interleave(
        lambda x: tf.data.Dataset.from_tensors(function(x)), num_parallel_calls=2
    ),
    "in a function": lambda data, function: data.map(tf.function(function)),
    "in a loop": lambda data, function: data.batch(2).map(lambda x: tf.map_fn(function, x)),
}


@pytest.mark.parametrize("name", DATASETS)
def test_functions_of_datasets_are_recognized(name):
    found = []
    DATASETS[name](
        tf.data.Dataset.range(4), lambda x: (found.append(dataset_functions.is_traced()), x)[1]
    )
    assert found
    assert all(found)
    outside = tf.function(lambda x: x + int(dataset_functions.is_traced()))
    assert not outside(0)
    assert not dataset_functions.is_traced()


def test_global_generator_is_made_once_even_inside_a_graph():
    random.set_random_seed(3)
    step = tf.function(lambda: random.normal((2,)), autograph=False)
    first, second = step(), step()
    assert not np.array_equal(first, second)
    assert random.global_seed_generator() is random.global_seed_generator()


def test_seed_generator_is_a_module_with_a_label():
    seeds = random.SeedGenerator(1, name="my seeds/1")
    assert seeds.name == "my seeds/1"
    assert len(seeds.variables) == 1
    assert not seeds.trainable_variables
    assert seeds.state.dtype == "int64"


def test_seed_generator_config_round_trip():
    seeds = random.SeedGenerator(9, name="mine")
    seeds.next()
    config = serialization.serialize_keras_object(seeds)
    assert config == keras.saving.serialize_keras_object(keras.random.SeedGenerator(9, name="mine"))
    again = serialization.deserialize_keras_object(config)
    np.testing.assert_array_equal(again.state, [9, 0])


def test_one_seed_is_drawn_for_each_generator_without_one():
    python_random.seed(0)
    random.SeedGenerator()
    random.SeedGenerator(4)
    after = python_random.random()
    python_random.seed(0)
    python_random.randint(1, 10**9)
    assert python_random.random() == after


@pytest.mark.parametrize("noise_shape", [(4, 1), (None, 1), (None, 3)])
def test_dropout_noise_shape(noise_shape):
    x = np.arange(1.0, 13.0, dtype="float32").reshape(4, 3)
    expected = keras.random.dropout(x, 0.5, noise_shape=noise_shape, seed=2)
    np.testing.assert_array_equal(random.dropout(x, 0.5, noise_shape, seed=2), expected)


def test_dropout_extremes():
    x = tf.ones((2, 3))
    np.testing.assert_array_equal(random.dropout(x, 0.0), x)
    np.testing.assert_array_equal(random.dropout(x, 1.0), tf.zeros((2, 3)))


def test_dropout_with_unknown_batch():
    seeds = random.SeedGenerator(1)
    spec = tf.TensorSpec((None, 3))
    step = tf.function(
        lambda x: random.dropout(x, 0.5, (None, 1), seed=seeds), [spec], autograph=False
    )
    assert step(tf.ones((5, 3))).shape == (5, 3)


def test_symbolic_arguments_are_recorded():
    x = KerasTensor((None, 4))
    dropped = random.dropout(x, 0.5, seed=1)
    assert dropped.shape == (None, 4)
    assert dropped.node.operation is random.dropout
    assert random.shuffle(x, seed=1).shape == (None, 4)
    assert random.categorical(x, 3, seed=1).shape == (None, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.uniform((2,), dtype="int32"), "`uniform` draws floats.*int32"),
        (lambda: random.randint((2,), 0, 3, dtype="float32"), "`randint` draws integers.*float32"),
        (lambda: random.categorical(tf.ones((3,)), 2), r"\(batch, classes\).*\(3,\)"),
        (lambda: random.normal((2,), seed="a"), "integer, a `tfkit.random.SeedGenerator`.*'a'"),
        (lambda: random.SeedGenerator(1.5), "integer or None.*1.5"),
        (lambda: random.set_random_seed("1"), "must be an integer.*'1'"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["normal", "uniform", "dropout"])
def test_functions_draw_what_kernels_draw(name, dtype, jit_compile):
    draw = getattr(random, name)
    if name == "dropout":
        call = lambda: draw(tf.ones([7, 11], dtype), 0.3, seed=9)  # noqa: E731
    else:
        call = lambda: draw([7, 11], dtype=dtype, seed=9)  # noqa: E731
    compiled = tf.function(call, autograph=False, jit_compile=jit_compile)()
    expected = tf.cast(call(), "float64")
    precision = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-6}[dtype]
    np.testing.assert_allclose(tf.cast(compiled, "float64"), expected, precision, precision)
    if name != "normal":
        np.testing.assert_array_equal(tf.cast(compiled, "float64"), expected)


@pytest.mark.parametrize("count", [1, 5, 4096, 4099])
def test_masks_inside_xla_are_those_outside(count):
    def draw(seed):
        return philox.at_least(0.3, [count], seed, "float32")

    seed = tf.constant([2**31 - 3, 2**31 - 5])  # Seeds are not negative: see `_draw_int32_seed`.
    expected = philox.uniform([count], seed, "float32") >= 0.3
    compiled = tf.function(draw, autograph=False, jit_compile=True).get_concrete_function(seed)
    np.testing.assert_array_equal(draw(seed), expected)
    np.testing.assert_array_equal(compiled(seed), expected)
    np.testing.assert_array_equal(SharedProgram(compiled)(seed), expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tf.random.uniform([4], seed=5),
        lambda: tf.random.truncated_normal([4], seed=5),
        lambda: tf.random.categorical(tf.zeros([1, 1000]), 4, seed=5),
        lambda: tf.random.log_uniform_candidate_sampler([[3]], 1, 4, True, 1000, seed=5)[0],
    ],
    ids=["uniform", "truncated_normal", "categorical", "candidates"],
)
def test_programs_whose_kernels_count_their_draws_are_not_shared(draw):
    """Two equal programs begin with the same draws; a shared one would go on with the next."""
    programs = []
    for _ in range(2):
        tf.random.set_seed(3)
        programs.append(SharedProgram(tf.function(draw, autograph=False).get_concrete_function()))
    first, second = programs[0]().numpy(), programs[0]().numpy()
    np.testing.assert_array_equal(programs[1](), first)
    assert np.any(first != second)


def test_generator_refuses_unknown_arguments():
    for module in (random, keras.random):
        with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
            module.SeedGenerator(sed=5)


def test_programs_of_xla_do_not_take_places_for_constants():
    seeds, state = random.SeedGenerator(5), tf.Variable(3)
    compiled = functools.partial(tf.function, jit_compile=True)
    # The length of a range must be known to XLA, which compiles again for each value of a variable.
    assert compiled(lambda: tf.range(state))().shape == (3,)
    for place in (
        lambda: not_constant(state.value()),
        lambda: random.randint((), 0, 9, seed=seeds),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="compile-time constant"):
            compiled(lambda place=place: tf.range(place()))()
    table = tf.range(10, 20)
    assert int(compiled(lambda: table[not_constant(state.value())])()) == 13
    begin = functools.partial(random.randint, (), 0, 9)
    drawn = [int(compiled(lambda: table[begin(seed=seeds) :][0])()) for _ in range(2)]
    theirs = keras.random.SeedGenerator(5)
    assert drawn == [10 + int(keras.random.randint((), 0, 9, seed=theirs)) for _ in range(2)]


class Noisy(tfkit.layers.Layer):
    def call(self, x):
        return x + tfkit.random.normal(tfkit.ops.shape(x))


@pytest.mark.parametrize("method", ["__call__", "predict", "predict_on_batch", "train_on_batch"])
def test_set_random_seed_reaches_compiled_draws_without_a_seed(method):
    model = tfkit.Sequential([tfkit.Input((2,)), Noisy()])
    model.compile(loss="mse")
    x = np.zeros((3, 2), "float32")
    arguments = (x, x) if method == "train_on_batch" else (x,)
    found = []
    for _ in range(3):
        tfkit.utils.set_random_seed(5)
        found += [np.array(getattr(model, method)(*arguments)) for _ in range(2)]
        model.reset_metrics()
    np.testing.assert_array_equal(found[:2] * 2, found[2:])
    assert not np.array_equal(found[0], found[1])
    if method == "__call__":
        keras.utils.set_random_seed(5)
        np.testing.assert_allclose(found[0], keras.random.normal((3, 2)), rtol=1e-6)


def draws_of_calls(module, set_seed):
    class Sampling(module.layers.Layer):
        def call(self, x):
            return tf.cond(tf.reduce_sum(x) < 1.0, lambda: x + tf.random.normal((3, 2)), lambda: x)

    layer, found = Sampling(), []
    for _ in range(2):
        found += [layer(np.zeros((3, 2), "float32")).numpy() for _ in range(2)]
        set_seed(7)
        found += [layer(np.zeros((3, 2), "float32")).numpy() for _ in range(3)]
    return found[2:5] + found[7:]


@pytest.mark.parametrize("set_seed", [tf.random.set_seed, random.set_random_seed])
def test_draws_by_tensorflow_follow_its_seed_as_in_keras(set_seed):
    try:
        ours = draws_of_calls(tfkit, set_seed)
        oracle = draws_of_calls(keras, tf.random.set_seed)
    finally:
        tf.random.set_seed(None)
    np.testing.assert_array_equal(ours, oracle)
    np.testing.assert_array_equal(ours[:3], ours[3:])
    assert not np.array_equal(ours[0], ours[1])
