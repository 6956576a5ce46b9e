"""What the main thread sets holds for the process; what another thread sets holds in that thread."""

import functools
import random

import numpy as np
import pytest

import tfkit
from tests.threads.together import together
from tfkit import layers
from tfkit.src.base import names as names_module

X = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")


@pytest.fixture(autouse=True)
def as_before():
    yield
    tfkit.config.set_dtype_policy("float32")


def test_policies():
    tfkit.config.set_dtype_policy("float64")

    def made_under(name):
        if name is not None:
            tfkit.config.set_dtype_policy(name)
        return [layers.Dense(1).dtype_policy.name for _ in range(20)]

    names = ["mixed_bfloat16", None, "float32", "mixed_float16"]
    found = together(*(functools.partial(made_under, name) for name in names))
    assert found == [[name or "float64"] * 20 for name in names]
    assert layers.Dense(1).dtype_policy.name == "float64"


def test_default_names():
    def names():
        return [layers.Dense(1).name for _ in range(50)]

    numbered = ["dense", *(f"dense_{index}" for index in range(1, 50))]
    assert together(*[names] * 6) == [numbered] * 6
    before = names_module.get_uid("dense")
    together(names)
    assert names_module.get_uid("dense") == before + 1


def draws(seed):
    """Weights, and the order of a shuffle, which the weights after an epoch show."""
    tfkit.utils.set_random_seed(seed)
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(X, X[:, :2], batch_size=1, verbose=0)
    left, _ = tfkit.utils.split_dataset(np.arange(9), left_size=5, shuffle=True)
    drawn = tfkit.random.uniform((2,)).numpy()
    return model.get_weights(), drawn, [int(number) for number in left]


def test_seeds_give_in_each_thread_what_they_give_in_the_main_thread():
    expected = [draws(seed) for seed in range(4)]
    found = together(*(functools.partial(draws, seed) for seed in (0, 1, 2, 3, 0, 1)))
    for one, other in zip(found, [*expected, *expected[:2]], strict=True):
        for mine, theirs in zip([*one[0], *one[1:]], [*other[0], *other[1:]], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_generator_draws_as_the_thread_that_trains():
    """TensorFlow asks for batches in a thread of its own."""

    class Rows(tfkit.utils.PyDataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return X[2 * index : 2 * index + 2], X[2 * index : 2 * index + 2, :1]

    def train(seed):
        tfkit.utils.set_random_seed(seed)
        model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(Rows(), epochs=2, verbose=0)
        return model.get_weights()

    expected = [train(seed) for seed in range(3)]
    for one, other in zip(together(*(functools.partial(train, n) for n in range(3))), expected):  # noqa: B905
        np.testing.assert_array_equal(one[0], other[0])


def test_the_shape_of_an_output_draws_nothing_meanwhile():
    """The layer is made a second time for it, with draws that do not count."""
    layer = layers.Dense(3)
    random.seed(1)
    expected = random.random()
    random.seed(1)
    assert layer.compute_output_shape((None, 4)) == (None, 3)
    assert random.random() == expected

    def draw():
        generator = random.Random(5)
        tfkit.utils.set_random_seed(5)
        return [
            tfkit.src.weights.random.make_default_seed() == generator.randint(1, 10**9)
            for _ in range(99)
        ]

    def shapes():
        return [layers.Dense(3).compute_output_shape((None, 4)) for _ in range(20)]

    assert all(together(draw, shapes, shapes)[0])
