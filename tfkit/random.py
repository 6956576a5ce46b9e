"""Random draws, each from an explicit seed: an integer, a `SeedGenerator`, or the global generator.

Every draw names its algorithm, Philox: inside XLA on CPU TensorFlow's own choice is tens of times
slower. Equal seeds give Keras's numbers, inside XLA too (`tfkit/philox.py`), except that
`truncated_normal` and `categorical` are other numbers of the same distribution there.
"""

from __future__ import annotations

import random as python_random
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit import copying, philox, recomputation
from tfkit.dtypes import is_float, is_int, standardize_dtype
from tfkit.generators import generators_in_force, set_generators
from tfkit.names import auto_name
from tfkit.per_thread import is_main
from tfkit.registry import register_builtins
from tfkit.symbolic import symbolic_op
from tfkit.variables import make_variable


class SeedGenerator(tf.Module):
    """A stream of seeds whose position is a variable, so that it is saved and resumed with a model.

    Args:
        seed: integer that the stream starts from; drawn from Python's `random` where it is `None`.
        name: name of the generator.

    Raises:
        ValueError: when `seed` is neither an integer nor `None`, and for an argument that is not known.

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
        super().__init__()
        # Not handed to `tf.Module`, which takes Python identifiers only.
        self._name = name or auto_name(type(self).__name__)
        self._initial_seed = seed
        if seed is None:
            seed = make_default_seed()
        if not isinstance(seed, int):
            raise ValueError(f"Argument `seed` must be an integer or None. Received: seed={seed!r}")
        self.state = make_variable(
            f"the state of seed generator '{self.name}'",
            (2,),
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
        current = tf.identity(self.state)
        if ordered:
            self.state.assign_add([0, 1])
        else:
            self.state.assign((current + 1) * 5387 % 933199)
        return current

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle holds: where the stream stands, too."""
        return copying.attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        copying.set_attributes(self, state)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"seed": self._initial_seed, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """Returns a generator at the start of its stream, from `get_config()`."""
        return cls(**config)


Seed = int | SeedGenerator | None


def global_seed_generator() -> SeedGenerator:
    """Returns the generator behind draws without a seed; made at the first of them."""
    generators = generators_in_force()
    with generators.lock:
        if generators.seeds is None:
            generators.seeds = SeedGenerator()
    return generators.seeds


def reset_global_seed_generator() -> None:
    """Forgets the global generator; the next draw without a seed makes a new one."""
    generators_in_force().seeds = None


def get_global_seeds() -> list[int] | None:
    """Where the global generator stands; `None` before the first draw without a seed."""
    seeds = generators_in_force().seeds
    return None if seeds is None else seeds.state.numpy().tolist()


def set_global_seeds(state: list[int] | None) -> None:
    """Goes to where `get_global_seeds` said that the global generator stood."""
    if state is None:
        reset_global_seed_generator()
    else:
        global_seed_generator().state.assign(state)


def set_random_seed(seed: int) -> None:
    """Makes a program repeatable: seeds Python, NumPy, TensorFlow and the global generator.

    Python, NumPy and TensorFlow have one generator for all threads. What tfkit itself draws in a thread that
    calls this, other than the main one, comes from generators of that thread: what others draw meanwhile does
    not matter.

    Args:
        seed: any integer that NumPy takes, 0 to 2**32 - 1.

    Raises:
        ValueError: when `seed` is no integer.
    """
    if not isinstance(seed, int):
        raise ValueError(f"`seed` must be an integer. Received: seed={seed!r}")
    python_random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
    if is_main():
        reset_global_seed_generator()
    else:
        set_generators(python_random.Random(seed), np.random.RandomState(seed))


def make_default_seed() -> int:
    """Returns a seed for whoever was given none, from Python's `random`."""
    return int(generators_in_force().python.randint(1, 10**9))


def draw_seed(seed: Seed) -> tf.Tensor:
    """Returns the pair of int64 that a draw with this `seed` uses.

    Args:
        seed: an integer gives the same pair each time, a `SeedGenerator` its next one, and `None`
            the next one of the global generator.

    Raises:
        ValueError: for anything else.
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
    # XLA takes seeds of 32 bits only, while a variable that lives on any device must have 64.
    return tf.cast(draw_seed(seed) % (tf.int32.max - 1), "int32")


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Draws from a normal distribution.

    Args:
        shape: shape of the result.
        mean: mean, broadcast to `shape`.
        stddev: standard deviation, broadcast to `shape`.
        dtype: a float type; the default float type where it is `None`.
        seed: an integer (equal draws), a `SeedGenerator` (fresh ones), or `None` (the global one).
    """
    dtype = standardize_dtype(dtype)
    draws = philox.normal(shape, _draw_int32_seed(seed), dtype)
    return draws * tf.cast(stddev, dtype) + tf.cast(mean, dtype)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Draws from a normal distribution, redrawing what is over two `stddev` off the mean.

    Args: as `normal`; `mean` and `stddev` are those before truncation.
    """
    return tf.random.stateless_truncated_normal(
        shape, _draw_int32_seed(seed), mean, stddev, standardize_dtype(dtype), alg="philox"
    )


def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Draws evenly from `[minval, maxval)`.

    Args:
        shape: shape of the result.
        minval: lower bound, included.
        maxval: upper bound, left out.
        dtype: a float type; the default float type where it is `None`.
        seed: as in `normal`.

    Raises:
        ValueError: when `dtype` is no float type; `randint` draws integers.
    """
    dtype = standardize_dtype(dtype)
    if not is_float(dtype):
        raise ValueError(
            "`uniform` draws floats; use `randint` for integers. Expected a float `dtype`. "
            f"Received: dtype={dtype!r}"
        )
    minval, maxval = tf.cast(minval, dtype), tf.cast(maxval, dtype)
    return philox.uniform(shape, _draw_int32_seed(seed), dtype) * (maxval - minval) + minval


def randint(
    shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Seed = None
) -> tf.Tensor:
    """Draws integers evenly from `[minval, maxval)`.

    Args:
        shape: shape of the result.
        minval: lower bound, included.
        maxval: upper bound, left out.
        dtype: an integer type.
        seed: as in `normal`.

    Raises:
        ValueError: when `dtype` is no integer type; `uniform` draws floats.
    """
    dtype = standardize_dtype(dtype)
    if not is_int(dtype):
        raise ValueError(
            "`randint` draws integers; use `uniform` for floats. Expected an integer `dtype`. "
            f"Received: dtype={dtype!r}"
        )
    drawn_dtype = dtype if dtype in ("int32", "int64") else "int64"
    draws = tf.random.stateless_uniform(
        shape, _draw_int32_seed(seed), minval, maxval, drawn_dtype, alg="philox"
    )
    return tf.cast(draws, dtype)


@symbolic_op
def categorical(
    logits: Any, num_samples: int, dtype: Any = "int32", seed: Seed = None
) -> tf.Tensor:
    """Draws class indices with the probabilities `softmax(logits)`.

    Args:
        logits: shape `(batch, classes)`, unnormalised log-probabilities.
        num_samples: draws per row.
        dtype: an integer type.
        seed: as in `normal`.

    Returns:
        Indices of shape `(batch, num_samples)`.

    Raises:
        ValueError: when `logits` has not two axes.
    """
    logits = tf.convert_to_tensor(logits)
    if logits.shape.rank != 2:
        raise ValueError(
            "`logits` must have shape (batch, classes). "
            f"Received: logits of shape {tuple(logits.shape)}"
        )
    samples = tf.random.stateless_categorical(logits, num_samples, _draw_int32_seed(seed))
    return tf.cast(samples, standardize_dtype(dtype))


@symbolic_op
def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Seed = None) -> tf.Tensor:
    """Sets entries to zero at random and scales the rest by `1 / (1 - rate)`.

    Args:
        inputs: a float tensor.
        rate: probability of zero, 0 to 1.
        noise_shape: shape of the random pattern, broadcast to that of `inputs`; `None` within it
            stands for the size in `inputs`.
        seed: as in `normal`.
    """
    inputs = tf.convert_to_tensor(inputs)
    if rate == 1.0:
        return tf.zeros_like(inputs)
    if rate == 0.0:
        return inputs
    sizes = tf.shape(inputs)
    if noise_shape is None:
        pattern = sizes
    else:
        pattern = [sizes[i] if size is None else size for i, size in enumerate(noise_shape)]
    kept = philox.at_least(rate, pattern, _draw_int32_seed(seed), inputs.dtype.name)
    return tf.where(kept, inputs * tf.cast(1.0 / (1.0 - rate), inputs.dtype), 0)


@symbolic_op
def shuffle(x: Any, axis: int = 0, seed: Seed = None) -> tf.Tensor:
    """Returns the slices of `x` along `axis` in random order.

    Args:
        x: a tensor.
        axis: the axis to shuffle along.
        seed: as in `normal`.
    """
    keys = philox.uniform([tf.shape(x)[axis]], _draw_int32_seed(seed), "float32")
    # The order of random keys: `stateless_shuffle` does not compile under XLA.
    return tf.gather(x, tf.argsort(keys), axis=axis)


def _gamma(shape: Any, alpha: Any, dtype: str, int32_seed: tf.Tensor) -> tf.Tensor:
    drawn_dtype = "float32" if dtype == "bfloat16" else dtype
    alpha = tf.cast(alpha, drawn_dtype)
    return tf.cast(tf.random.stateless_gamma(shape, int32_seed, alpha, dtype=drawn_dtype), dtype)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Seed = None) -> tf.Tensor:
    """Draws from a gamma distribution of scale 1. TensorFlow has no XLA kernel for it.

    Args:
        shape: shape of the result.
        alpha: positive parameter; a number, or an array with the last axes of `shape`.
        dtype: a float type; the default float type where it is `None`.
        seed: as in `normal`.
    """
    return _gamma(shape, alpha, standardize_dtype(dtype), _draw_int32_seed(seed))


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Seed = None) -> tf.Tensor:
    """Draws from a beta distribution. TensorFlow has no XLA kernel for it.

    Args:
        shape: shape of the result.
        alpha: first parameter, positive, broadcast to `shape`.
        beta: second parameter, positive, broadcast to `shape`.
        dtype: a float type; the default float type where it is `None`.
        seed: as in `normal`.
    """
    dtype = standardize_dtype(dtype)
    int32_seed = _draw_int32_seed(seed)
    # X / (X + Y) of gamma draws X and Y, which must be independent: hence the second seed.
    x = _gamma(shape, tf.broadcast_to(alpha, shape), dtype, int32_seed)
    y = _gamma(shape, tf.broadcast_to(beta, shape), dtype, int32_seed + 12)
    return x / (x + y)


def binomial(
    shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Seed = None
) -> tf.Tensor:
    """Draws numbers of successes in `counts` trials. TensorFlow has no XLA kernel for it.

    Args:
        shape: shape of the result.
        counts: numbers of trials, broadcast to `shape`.
        probabilities: probability of success, 0 to 1, broadcast to `shape`.
        dtype: type of the result; the default float type where it is `None`.
        seed: as in `normal`.
    """
    dtype = standardize_dtype(dtype)
    drawn_dtype = "float32" if dtype == "bfloat16" else dtype
    draws = tf.random.stateless_binomial(
        shape, _draw_int32_seed(seed), counts, probabilities, output_dtype=drawn_dtype
    )
    return tf.cast(draws, dtype)


register_builtins(
    "random",
    [
        SeedGenerator,
        beta,
        binomial,
        categorical,
        dropout,
        gamma,
        normal,
        randint,
        shuffle,
        truncated_normal,
        uniform,
    ],
)
