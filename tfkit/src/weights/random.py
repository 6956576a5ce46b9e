"""Random numbers, each from an explicit seed: an integer, a `SeedGenerator`, or the global generator.

Every draw names its algorithm, Philox: inside XLA on CPU, TensorFlow's own choice is tens of times
slower. Equal seeds give Keras's values, inside XLA too (`tfkit/src/engine/philox.py`), except that there
`truncated_normal` and `categorical` give different values of the same distribution.
"""

from __future__ import annotations

import random as python_random
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import recomputation
from tfkit.src.base.context import is_main
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.generators import generators_in_force, set_generators
from tfkit.src.base.members import SeedBase
from tfkit.src.base.names import auto_name
from tfkit.src.base.registry.constructors import Configured
from tfkit.src.base.registry.dtypes import is_float, is_int, standardize_dtype
from tfkit.src.engine import dataset_functions, philox, replicas
from tfkit.src.engine.known_rows import as_many_rows
from tfkit.src.engine.variable_values import not_constant
from tfkit.src.symbolic.tensors import symbolic_op
from tfkit.src.weights.variables import copying
from tfkit.src.weights.variables.variables import make_variable


class SeedGenerator(Configured, SeedBase, tf.Module):
    """A stream of seeds whose position is a variable, so that it is saved and resumed with a model.

    Args:
        seed: integer that the stream starts from; drawn from Python's `random` where it is `None`.
        name: name of the generator.

    Raises:
        ValueError: when `seed` is neither an integer nor `None`, for a name that is not a string, and
            for an argument that is not known.

    Example:
        >>> seeds = SeedGenerator(42)
        >>> first, second = normal((2,), seed=seeds), normal((2,), seed=seeds)
        >>> bool(tf.reduce_all(first == second))
        False
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **kwargs: Any) -> None:
        if kwargs:
            raise ValueError(
                f"Unrecognized keyword arguments of SeedGenerator: {list(kwargs)}. "
                "Expected `seed` and `name`."
            )
        if name is not None and not isinstance(name, str):
            raise ValueError(f"Argument `name` must be a string or None. Received: name={name!r}")
        super().__init__()
        # Not passed to `tf.Module`, which accepts only Python identifiers.
        self._name = name or auto_name(type(self).__name__)
        self._initial_seed = seed
        if seed is None:
            seed = make_default_seed()
        if not isinstance(seed, int):
            raise ValueError(f"Argument `seed` must be an integer or None. Received: seed={seed!r}")
        # The state is a variable of int64.
        if seed.bit_length() > 63:
            raise ValueError(
                f"Argument `seed` must be an integer of 64 bits. Received: seed={seed}"
            )
        self.state = make_variable(
            f"the state of seed generator '{self.name}'",
            (2,),
            # The second value counts the draws.
            np.array([seed, 0], "int64"),
            "int64",
            "seed_generator_state",
        )
        self.state.path = f"{self.name}/seed_generator_state"

    def next(self, ordered: bool = True) -> tf.Tensor:
        """Returns the next seed: a pair of integers, which differs from call to call.

        Args:
            ordered: whether the pairs count up. If `False` they jump between 0 and a million, so
                that streams with neighbouring starts do not meet.
        """
        return recomputation.as_before(lambda: self._next(ordered))

    def _next(self, ordered: bool) -> tf.Tensor:
        one_copy = not isinstance(self.state, tf.distribute.DistributedValues)
        if one_copy and dataset_functions.is_traced():
            # A parallel map calls it for several elements at once, which must not get the same seed.
            return dataset_functions.read_then_change(self.state, _next_one if ordered else _leap)
        return replicas.once(lambda: self._advanced(ordered))

    def _advanced(self, ordered: bool) -> tf.Tensor:
        # A copy, because the variable changes before the draw reads its seed.
        current = tf.identity(self.state)
        # Both rules are Keras's, so that equal seeds give equal draws: layers count, and the
        # global generator leaps.
        if ordered:
            self.state.assign_add([0, 1])
        else:
            self.state.assign(_leap(current))
        return current

    def __getstate__(self) -> dict[str, Any]:
        """Returns the contents of a copy or a pickle, including the position of the stream."""
        return copying.attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        copying.set_attributes(self, state)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"seed": self._initial_seed, "name": self.name}


def _next_one(state: tf.Tensor) -> tf.Tensor:
    return state + [0, 1]


def _leap(state: tf.Tensor) -> tf.Tensor:
    return (state + 1) * 5387 % 933199


Seed = int | SeedGenerator | None


def global_seed_generator() -> SeedGenerator:
    """Returns the generator for draws without a seed, which the first such draw makes.

    Returns:
        A `SeedGenerator`, the same one until `reset_global_seed_generator()`.

    Example:
        >>> global_seed_generator() is global_seed_generator()
        True
    """
    generators = generators_in_force()
    generators.note()
    with generators.lock:
        if generators.seeds is None:
            generators.seeds = SeedGenerator()
    return generators.seeds


def reset_global_seed_generator() -> None:
    """Discards the global generator; the next draw without a seed makes a new one.

    Example:
        >>> seeds = global_seed_generator()
        >>> reset_global_seed_generator()
        >>> global_seed_generator() is seeds
        False
    """
    generators_in_force().discard_seeds()


def get_global_seeds() -> list[int] | None:
    """Returns the position of the global generator in its stream of seeds.

    Returns:
        A list of two integers for `set_global_seeds`; `None` before the first draw without a
        seed.

    Example:
        >>> reset_global_seed_generator()
        >>> get_global_seeds() is None
        True
    """
    seeds = generators_in_force().seeds
    return None if seeds is None else seeds.state.numpy().tolist()


def set_global_seeds(state: list[int] | None) -> None:
    """Moves the global generator to a position in its stream of seeds.

    Args:
        state: the result of `get_global_seeds`.

    Example:
        >>> _ = normal((2,))
        >>> state = get_global_seeds()
        >>> first = normal((2,))
        >>> set_global_seeds(state)
        >>> bool(tf.reduce_all(first == normal((2,))))
        True
    """
    if state is None:
        reset_global_seed_generator()
    else:
        global_seed_generator().state.assign(state)


def set_random_seed(seed: int) -> None:
    """Makes a program repeatable: seeds Python, NumPy, TensorFlow and the global generator.

    Python, NumPy and TensorFlow have one generator for all threads. What tfkit itself draws in a
    thread that calls this, other than the main one, comes from generators of that thread: what
    others draw meanwhile does not matter.

    Args:
        seed: an integer that NumPy accepts, from 0 to 2**32 - 1.

    Raises:
        ValueError: for anything else; no generator has changed.

    Example:
        >>> set_random_seed(7)
        >>> first = normal((2,))
        >>> set_random_seed(7)
        >>> bool(tf.reduce_all(first == normal((2,))))
        True
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"`seed` must be an integer from 0 to 2**32 - 1. Received: seed={seed!r}")
    # Initializers and generators without a seed get theirs from Python's `random`, shuffles of data from
    # NumPy's.
    python_random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
    if is_main():
        reset_global_seed_generator()
    else:
        set_generators(python_random.Random(seed), np.random.RandomState(seed))


def make_default_seed() -> int:
    """Returns a seed for an object that was given none, from Python's `random`.

    Returns:
        An integer from 1 to 10**9.

    Example:
        >>> 1 <= make_default_seed() <= 10**9
        True
    """
    return int(generators_in_force().python.randint(1, 10**9))


def draw_seed(seed: Seed) -> tf.Tensor:
    """Returns the pair of integers for a draw with a given seed.

    Args:
        seed: an integer (the same pair each time), a `SeedGenerator` (its next pair) or `None`
            (the next pair of the global generator).

    Returns:
        An int64 tensor of two elements, as the stateless operations of TensorFlow take it.

    Raises:
        ValueError: for anything else.

    Example:
        >>> draw_seed(7).numpy().tolist()
        [7, 0]
    """
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if isinstance(seed, int):
        return tf.constant([seed, 0], "int64")
    if seed is None:
        return global_seed_generator().next(ordered=False)
    raise ValueError(
        "Argument `seed` must be either an integer, a `tfkit.random.SeedGenerator` or None. "
        f"Received: seed={seed!r} (of type {type(seed).__name__})"
    )


def _draw_int32_seed(seed: Seed) -> tf.Tensor:
    # XLA accepts only seeds of 32 bits, while a variable for any device must have 64.
    return tf.cast(draw_seed(seed) % (tf.int32.max - 1), "int32")


def _in_dtype(value: Any, dtype: str) -> Any:
    """Returns a parameter of a distribution in a dtype; a Python number needs no operation."""
    if isinstance(value, (int, float)):
        # As Keras: a float is rounded to float32, whatever the dtype.
        exact = np.float32(value) if isinstance(value, float) else value
        return np.asarray(exact, tf.as_dtype(dtype).as_numpy_dtype)
    return tf.cast(value, dtype)


def _dtype_of_draws(shape: Any, dtype: Any) -> str:
    """Returns the name of a dtype. Raises an error for a number where a shape is expected."""
    if not isinstance(shape, (tuple, list, tf.TensorShape)) and np.ndim(shape) == 0:
        raise ValueError(
            f"`shape` must be a tuple of sizes, such as `({shape},)`. Received: shape={shape!r}"
        )
    return standardize_dtype(dtype)


@shortened
def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Returns random values from a normal distribution.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        mean: mean, a number or a tensor that broadcasts to `shape`. Default: `0.0`.
        stddev: standard deviation, a number or a tensor that broadcasts to `shape`.
            Default: `1.0`.
        dtype: a float dtype; `None` for the default one.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape`.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> normal((3,), mean=5.0, stddev=2.0, seed=1).numpy().round(3)
        array([5.253, 4.014, 6.262], dtype=float32)
    """
    dtype = _dtype_of_draws(shape, dtype)
    # Before a seed is drawn: after an error, the generator is where it was.
    stddev, mean = _in_dtype(stddev, dtype), _in_dtype(mean, dtype)
    return philox.normal(shape, _draw_int32_seed(seed), dtype) * stddev + mean


@shortened
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Returns random values from a normal distribution without its tails.

    Values more than two standard deviations from the mean are drawn again.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        mean: mean before the tails are cut, a number or a tensor that broadcasts to `shape`.
            Default: `0.0`.
        stddev: standard deviation before the tails are cut, a number or a tensor that broadcasts
            to `shape`. Default: `1.0`.
        dtype: a float dtype; `None` for the default one.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape`. Compiled by XLA, equal seeds give other draws than elsewhere.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> draws = truncated_normal((1000,), stddev=3.0, seed=1)
        >>> bool(tf.reduce_all(tf.abs(draws) <= 6.0))
        True
    """
    dtype = _dtype_of_draws(shape, dtype)
    stddev, mean = tf.convert_to_tensor(stddev, dtype), tf.convert_to_tensor(mean, dtype)
    return philox.truncated_normal(shape, _draw_int32_seed(seed), dtype) * stddev + mean


@shortened
def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Returns random values from the uniform distribution over `[minval, maxval)`.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        minval: lower bound, included. Default: `0.0`.
        maxval: upper bound, excluded. Default: `1.0`.
        dtype: a float dtype; `None` for the default one.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape`.

    Raises:
        ValueError: when `dtype` is not a float dtype (`randint` draws integers), and for a seed of
            a different type.

    Example:
        >>> uniform((3,), seed=1).numpy().round(3)
        array([0.878, 0.46 , 0.6  ], dtype=float32)
    """
    dtype = _dtype_of_draws(shape, dtype)
    if not is_float(dtype):
        raise ValueError(
            "`uniform` draws floats; use `randint` for integers. Expected a float `dtype`. "
            f"Received: dtype={dtype!r}"
        )
    minval, maxval = _in_dtype(minval, dtype), _in_dtype(maxval, dtype)
    return philox.uniform(shape, _draw_int32_seed(seed), dtype) * (maxval - minval) + minval


@shortened
def randint(
    shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Seed = None
) -> tf.Tensor:
    """Returns integers drawn uniformly from `[minval, maxval)`.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        minval: lower bound, included.
        maxval: upper bound, excluded.
        dtype: an integer dtype. Default: `"int32"`.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape`.

    Raises:
        ValueError: when `dtype` is not an integer dtype (`uniform` draws floats), and for a seed of
            a different type.

    Example:
        >>> randint((5,), 0, 10, seed=1).numpy().tolist()
        [9, 4, 0, 6, 1]
    """
    dtype = _dtype_of_draws(shape, dtype)
    if not is_int(dtype):
        raise ValueError(
            "`randint` draws integers; use `uniform` for floats. Expected an integer `dtype`. "
            f"Received: dtype={dtype!r}"
        )
    # TensorFlow draws integers of only these two dtypes.
    drawn_dtype = dtype if dtype in ("int32", "int64") else "int64"
    draws = philox.integers(shape, _draw_int32_seed(seed), minval, maxval, drawn_dtype)
    return tf.cast(not_constant(draws), dtype)


@symbolic_op
def categorical(
    logits: Any, num_samples: int, dtype: Any = "int32", seed: Seed = None
) -> tf.Tensor:
    """Returns class indices drawn with the probabilities `softmax(logits)`.

    Args:
        logits: logarithms of probabilities, up to a constant, a float tensor of shape
            `(batch, classes)`.
        num_samples: number of draws for each row.
        dtype: an integer dtype. Default: `"int32"`.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `(batch, num_samples)`. Compiled by XLA, equal seeds give other draws
        than elsewhere.

    Raises:
        ValueError: when `logits` does not have two axes, and for a seed of a different type.

    Example:
        >>> categorical([[0.0, 100.0], [100.0, 0.0]], 3, seed=1).numpy().tolist()
        [[1, 1, 1], [0, 0, 0]]
    """
    logits = tf.convert_to_tensor(logits)
    if logits.shape.rank != 2:
        raise ValueError(
            f"`logits` must have shape (batch, classes). Received: logits of shape {tuple(logits.shape)}"
        )
    samples = tf.random.stateless_categorical(logits, num_samples, _draw_int32_seed(seed))
    return tf.cast(samples, standardize_dtype(dtype))


@symbolic_op
def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Seed = None) -> tf.Tensor:
    """Returns a tensor with elements set to 0 at random and the rest divided by `1 - rate`.

    The mean does not change.

    Args:
        inputs: a tensor of any shape, of a float dtype.
        rate: probability of 0, from 0 to 1.
        noise_shape: shape of the random pattern, which broadcasts to the shape of `inputs`; `None`
            in it means the size of `inputs`. `None` for a pattern of the shape of `inputs`.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of the shape and dtype of `inputs`.

    Raises:
        ValueError: for a seed of any other type, and for any other `rate`.

    Example:
        >>> dropout(tf.ones((6,)), 0.5, seed=1).numpy().tolist()
        [2.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    """
    inputs = tf.convert_to_tensor(inputs)
    if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
        raise ValueError(f"`rate` must be from 0 to 1. Received: rate={rate}")
    if rate == 1.0:
        # A scale of 1 / (1 - rate) would be infinite.
        return tf.zeros_like(inputs)
    if rate == 0.0:
        return inputs
    sizes = tf.shape(inputs)
    if noise_shape is None:
        pattern = sizes
    else:
        pattern = [sizes[i] if size is None else size for i, size in enumerate(noise_shape)]
    kept = philox.at_least(rate, pattern, _draw_int32_seed(seed), inputs.dtype.name)
    # By `where`, since NaN or infinity times 0 would be NaN: a dropped value must not spread.
    outputs = tf.where(kept, inputs * tf.cast(1.0 / (1.0 - rate), inputs.dtype), 0)
    return as_many_rows(outputs, inputs)


@symbolic_op
def shuffle(x: Any, axis: int = 0, seed: Seed = None) -> tf.Tensor:
    """Returns the slices of a tensor along an axis in random order.

    Args:
        x: a tensor with at least one axis.
        axis: axis of the slices. Default: `0`.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> shuffle(tf.range(5), seed=1).numpy().tolist()
        [4, 3, 1, 2, 0]
    """
    keys = philox.uniform([tf.shape(x)[axis]], _draw_int32_seed(seed), "float32")
    # The order of random keys: `stateless_shuffle` does not compile under XLA.
    return tf.gather(x, tf.argsort(keys), axis=axis)


def _gamma(shape: Any, alpha: Any, dtype: str, int32_seed: tf.Tensor) -> tf.Tensor:
    drawn_dtype = "float32" if dtype == "bfloat16" else dtype
    alpha = tf.cast(alpha, drawn_dtype)
    return tf.cast(tf.random.stateless_gamma(shape, int32_seed, alpha, dtype=drawn_dtype), dtype)


@shortened
def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Seed = None) -> tf.Tensor:
    """Returns random values from a gamma distribution of scale 1.

    TensorFlow has no kernel for it in XLA.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        alpha: shape parameter, positive; a number, or a tensor with the last axes of `shape`.
        dtype: a float dtype; `None` for the default one.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape`, with mean `alpha`.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> gamma((2,), alpha=3.0, seed=1).shape
        TensorShape([2])
    """
    return _gamma(shape, alpha, _dtype_of_draws(shape, dtype), _draw_int32_seed(seed))


@shortened
def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Seed = None) -> tf.Tensor:
    """Returns random values from a beta distribution.

    TensorFlow has no kernel for it in XLA.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        alpha: first parameter, positive; a number or a tensor that broadcasts to `shape`.
        beta: second parameter, positive; a number or a tensor that broadcasts to `shape`.
        dtype: a float dtype; `None` for the default one.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape` with values in [0, 1] and mean `alpha / (alpha + beta)`.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> draws = beta((1000,), alpha=2.0, beta=2.0, seed=1)
        >>> round(float(tf.reduce_mean(draws)), 1)
        0.5
    """
    dtype = _dtype_of_draws(shape, dtype)
    int32_seed = _draw_int32_seed(seed)
    # X / (X + Y) of gamma draws X and Y, which must be independent: hence the second seed.
    x = _gamma(shape, tf.broadcast_to(alpha, shape), dtype, int32_seed)
    # The number 12 is Keras's: a different one would give different draws for the same seed.
    y = _gamma(shape, tf.broadcast_to(beta, shape), dtype, int32_seed + 12)
    return x / (x + y)


@shortened
def binomial(
    shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Returns numbers of successes in independent trials.

    TensorFlow has no kernel for it in XLA.

    Args:
        shape: shape of the result, a tuple or tensor of sizes.
        counts: number of trials, a number or a tensor that broadcasts to `shape`.
        probabilities: probability of success, from 0 to 1, a number or a tensor that broadcasts
            to `shape`.
        dtype: dtype of the result; `None` for the default float dtype.
        seed: an integer (equal draws each time), a `SeedGenerator` (new ones each time) or `None`
            (new ones from the global generator).

    Returns:
        A tensor of shape `shape` with whole numbers from 0 to `counts`.

    Raises:
        ValueError: for a seed of a different type, and for a `shape` that is a number.

    Example:
        >>> binomial((2, 2), counts=10, probabilities=[0.0, 1.0], seed=1).numpy().tolist()
        [[0.0, 10.0], [0.0, 10.0]]
    """
    dtype = _dtype_of_draws(shape, dtype)
    drawn_dtype = "float32" if dtype == "bfloat16" else dtype
    draws = tf.random.stateless_binomial(
        shape, _draw_int32_seed(seed), counts, probabilities, output_dtype=drawn_dtype
    )
    return tf.cast(draws, dtype)
