"""Initializers: Keras's numbers, configurations and draws of default seeds."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import initializers
from tfkit.src.weights import random

SHAPES = [(5, 3), (3, 5), (2, 3, 4, 6)]
RANDOM = [
    ("RandomNormal", {"mean": 0.5, "stddev": 2.0}),
    ("RandomUniform", {"minval": -1.0, "maxval": 4.0}),
    ("TruncatedNormal", {"mean": 0.5, "stddev": 2.0}),
    ("GlorotNormal", {}),
    ("GlorotUniform", {}),
    ("HeNormal", {}),
    ("HeUniform", {}),
    ("LecunNormal", {}),
    ("LecunUniform", {}),
    ("Orthogonal", {"gain": 1.5}),
    ("VarianceScaling", {}),
    ("VarianceScaling", {"scale": 3.0, "mode": "fan_out", "distribution": "uniform"}),
    ("VarianceScaling", {"mode": "fan_avg", "distribution": "untruncated_normal"}),
    ("VarianceScaling", {"distribution": "normal", "input_axes": [0], "output_axes": [1]}),
    ("GlorotUniform", {"input_axes": [0], "output_axes": [1]}),
]
CONSTANT = [
    ("Zeros", {}, (2, 3)),
    ("Ones", {}, (2, 3)),
    ("Constant", {"value": 2.5}, (2, 3)),
    ("Constant", {"value": [1.0, 2.0, 3.0]}, (2, 3)),
    ("Identity", {"gain": 3.0}, (2, 3)),
    ("STFT", {}, (16, 1, 9)),
    ("STFT", {"side": "imag", "window": "hamming", "scaling": "spectrum"}, (16, 1, 17)),
    ("STFT", {"window": "blackman", "periodic": True}, (15, 1, 9)),
    ("STFT", {"window": "nuttall", "scaling": None}, (16, 1, 9)),
    ("STFT", {"window": "blackmanharris"}, (16, 1, 9)),
    ("STFT", {"window": "flattop"}, (16, 1, 9)),
    ("STFT", {"window": "boxcar"}, (16, 1, 9)),
    ("STFT", {"window": "bartlett"}, (16, 1, 9)),
    ("STFT", {"window": "barthann"}, (16, 1, 9)),
    ("STFT", {"window": "bohman"}, (15, 1, 9)),
    ("STFT", {"window": "cosine"}, (15, 1, 9)),
    ("STFT", {"window": "lanczos", "periodic": True}, (16, 1, 9)),
    ("STFT", {"window": "triang"}, (15, 1, 9)),
    ("STFT", {"window": "triang", "periodic": True}, (15, 1, 9)),
    ("STFT", {"window": "tukey"}, (16, 1, 9)),
    ("STFT", {"window": "tukey", "periodic": True}, (16, 1, 9)),
    ("STFT", {"window": [1.0, 2.0, 3.0, 2.0]}, (4, 1, 5)),
    ("STFT", {"window": None}, (16, 1, 9)),
]


def pair(name, **options):
    return getattr(initializers, name)(**options), getattr(keras.initializers, name)(**options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "options"), RANDOM)
def test_equal_seeds_give_keras_numbers(name, options, shape):
    ours, theirs = pair(name, **options, seed=17)
    np.testing.assert_array_equal(ours(shape), theirs(shape))
    np.testing.assert_array_equal(ours(shape), ours(shape))


@pytest.mark.parametrize(("name", "options", "shape"), CONSTANT)
def test_constants_equal_keras(name, options, shape):
    ours, theirs = pair(name, **options)
    actual = ours(shape)
    assert actual.shape == shape
    np.testing.assert_allclose(actual, theirs(shape), rtol=0, atol=2e-6)
    # At least what Keras writes down: it forgets the gain of `Identity`, we do not.
    assert {**ours.get_config(), **theirs.get_config()} == ours.get_config()
    again = initializers.deserialize(initializers.serialize(ours))
    np.testing.assert_array_equal(again(shape), actual)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_small_shapes(shape):
    ours, theirs = pair("HeNormal", seed=1)
    np.testing.assert_array_equal(ours(shape), theirs(shape))


@pytest.mark.parametrize(("name", "options"), RANDOM)
def test_config_equals_keras_and_round_trips(name, options):
    ours, theirs = pair(name, **options, seed=17)
    assert initializers.serialize(ours) == keras.initializers.serialize(theirs)
    again = initializers.deserialize(initializers.serialize(ours))
    np.testing.assert_array_equal(again((4, 3)), ours((4, 3)))
    np.testing.assert_array_equal(ours.clone()((4, 3)), ours((4, 3)))
    assert pair(name, **options)[0].get_config()["seed"] is None


def construct_and_draw(module, generator_class):
    """Everything that may draw a default seed, in one order."""
    made = [module.get("glorot_uniform"), module.get(module.HeNormal), module.Orthogonal()]
    made += [module.get({"class_name": "RandomNormal", "config": {"stddev": 1.0}})]
    made += [made[0].clone(), module.LecunNormal(seed=3), module.get("zeros")]
    made += [module.RandomUniform(seed=generator_class()), module.VarianceScaling()]
    made += [made[7].clone(), module.deserialize(module.serialize(made[7]))]
    made += [module.deserialize(module.serialize(made[2]))]
    return [make((3, 3)) for make in made for _ in range(2)]


def test_same_sequence_of_constructions_gives_keras_weights():
    random.set_random_seed(21)
    ours = construct_and_draw(initializers, random.SeedGenerator)
    keras.utils.set_random_seed(21)
    theirs = construct_and_draw(keras.initializers, keras.random.SeedGenerator)
    for actual, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_seed_generator_gives_fresh_values():
    initializer = initializers.RandomNormal(seed=random.SeedGenerator(1))
    assert not np.array_equal(initializer((3,)), initializer((3,)))


@pytest.mark.parametrize("name", [name for name in dir(keras.initializers) if name[0] != "_"])
def test_every_public_name_of_keras_exists(name):
    assert hasattr(initializers, name)


@pytest.mark.parametrize(
    "name",
    ["zeros", "Zeros", "zero", "ones", "one", "normal", "uniform", "random_normal", "he_normal"]
    + ["random_uniform", "orthogonal", "OrthogonalInitializer", "identity", "he_uniform"]
    + ["IdentityInitializer", "glorot_uniform", "glorot_normal", "lecun_normal", "lecun_uniform"]
    + ["truncated_normal", "variance_scaling", "STFTInitializer"],
)
def test_names_resolve_as_in_keras(name):
    assert type(initializers.get(name)).__name__ == type(keras.initializers.get(name)).__name__


def test_get_takes_what_keras_takes():
    def twos(shape, dtype=None):
        return tf.fill(shape, 2.0)

    assert initializers.get(None) is None
    assert initializers.get(twos) is twos
    value = np.arange(6).reshape(2, 3)
    from_array = initializers.get(value)
    assert from_array((2, 3)).dtype == "float32"
    np.testing.assert_array_equal(from_array((2, 3)), value)
    np.testing.assert_array_equal(initializers.get(tf.constant(value))((2, 3), "int32"), value)
    with pytest.raises(ValueError, match=r"shape \(2, 3\).*shape=\(3, 2\)"):
        from_array((3, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["Zeros", "Constant", "Identity", "GlorotUniform", "Orthogonal"])
def test_dtypes(name, dtype):
    value = getattr(initializers, name)()((3, 3), dtype)
    assert value.dtype == dtype


def test_random_uniform_of_integers():
    ours, theirs = pair("RandomUniform", minval=0, maxval=50, seed=3)
    np.testing.assert_array_equal(ours((6,), "int32"), theirs((6,), "int32"))


def test_orthogonal_is_orthogonal_in_16_bits_too():
    q = tf.cast(initializers.Orthogonal(seed=1)((6, 3), "bfloat16"), "float32")
    np.testing.assert_allclose(tf.matmul(q, q, transpose_a=True), np.eye(3), atol=0.02)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("name", ["GlorotUniform", "Orthogonal", "Identity", "STFT"])
def test_compiled(name, jit_compile):
    initializer = getattr(initializers, name)()
    shape = (8, 1, 5) if name == "STFT" else (4, 3)
    value = tf.function(lambda: initializer(shape), autograph=False, jit_compile=jit_compile)()
    assert value.shape == shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: initializers.get("glorot"), "Unknown name.*'glorot'"),
        (lambda: initializers.get(3), "Could not interpret.*3"),
        (lambda: initializers.RandomNormal(seed="a"), "`seed` must be.*'a'"),
        (lambda: initializers.VarianceScaling(scale=0.0), "`scale` must be positive.*0.0"),
        (lambda: initializers.VarianceScaling(mode="fan"), "Invalid `mode` argument: .*'fan'"),
        (
            lambda: initializers.VarianceScaling(distribution="x"),
            "Invalid `distribution` argument: .*'x'",
        ),
        (lambda: initializers.Identity()((2, 2, 2)), r"matrices only.*\(2, 2, 2\)"),
        (lambda: initializers.Orthogonal()((2,)), r"two axes or more.*\(2,\)"),
        (lambda: initializers.STFT(side="x"), "`side` must be.*'x'"),
        (lambda: initializers.STFT(window="x"), "Unknown `window`.*'x'"),
        (lambda: initializers.STFT(scaling="x"), "`scaling` must be.*'x'"),
        (lambda: initializers.STFT(window=[1.0])((4, 1, 3)), r"4 samples.*\(1,\)"),
        (lambda: initializers.Zeros()((2,), "floaty"), "Invalid dtype.*floaty"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_base_class_asks_for_call():
    with pytest.raises(NotImplementedError, match="Initializer must define `__call__"):
        initializers.Initializer()((2,))


@pytest.mark.parametrize(
    "initializer",
    [
        tf.constant_initializer(3.0),
        tf.ones_initializer(),
        tf.random_normal_initializer(1.0, 0.02, seed=1),
        tf.random_uniform_initializer(2.0, 3.0, seed=1),
        tf.zeros_initializer(),
    ],
)
def test_initializers_of_tensorflow_are_saved_as_tfkits(initializer):
    config = initializers.serialize(initializer)
    again = initializers.deserialize(config)
    assert config["module"] == "keras.initializers"
    given = initializer.get_config()
    assert {name: again.get_config()[name] for name in given} == given
