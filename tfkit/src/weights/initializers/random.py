"""Initializers with random numbers: plain distributions, variance scaling, orthogonal matrices.

An initializer without a seed draws one when it is constructed, and returns equal values each time it
is called. With a `SeedGenerator` as seed each call returns new values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry import constructors, serialization
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.base.registry.dtypes import is_int, standardize_dtype
from tfkit.src.weights import random
from tfkit.src.weights.initializers.base import Initializer

# Standard deviation of a unit normal distribution cut off at two standard deviations.
_TRUNCATED_STDDEV = 0.87962566103423978


class RandomInitializer(Initializer):
    """Base class of initializers with a seed.

    Args:
        seed: an integer, a `SeedGenerator` (or its configuration), or `None` for a seed from
            Python's `random`, drawn now.

    Raises:
        ValueError: for any other seed.
    """

    def __init__(self, seed: Any = None) -> None:
        if isinstance(seed, dict):
            seed = serialization.deserialize_keras_object(seed)
        if not isinstance(seed, (int, random.SeedGenerator, type(None))):
            raise ValueError(
                f"`seed` must be an integer, a `tfkit.random.SeedGenerator` or None. Received: seed={seed!r}"
            )
        self._init_seed = seed
        # One seed for all calls: an initializer gives the same values each time, as in Keras. The
        # configuration keeps `None`, so that a clone draws different ones.
        self.seed = random.make_default_seed() if seed is None else seed

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        del config["seed"]
        return {"seed": serialization.serialize_keras_object(self._init_seed), **config}


class RandomNormal(RandomInitializer):
    """Draws from a normal distribution.

    Args:
        mean: mean of the distribution. Default: `0.0`.
        stddev: standard deviation of the distribution. Default: `0.05`.
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> RandomNormal(stddev=0.1, seed=1)((2, 3)).shape
        TensorShape([2, 3])
    """

    @with_checked_values
    @constructors.named_after_class
    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        self.mean = mean
        self.stddev = stddev
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Draws of `shape`."""
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Draws from a normal distribution, within two standard deviations of the mean.

    Values outside are drawn again.

    Args:
        mean: mean of the distribution before it is truncated. Default: `0.0`.
        stddev: standard deviation of the distribution before it is truncated. Default: `0.05`.
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> values = TruncatedNormal(stddev=0.1, seed=1)((1000,))
        >>> bool(tf.reduce_all(tf.abs(values) <= 0.2))
        True
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Draws of `shape`."""
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(RandomInitializer):
    """Draws from a uniform distribution between two bounds, floats or integers depending on the dtype.

    Args:
        minval: lower bound, included. Default: `-0.05`.
        maxval: upper bound, excluded. Default: `0.05`.
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> values = RandomUniform(-0.1, 0.1, seed=1)((1000,))
        >>> bool(tf.reduce_all(tf.abs(values) <= 0.1))
        True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None) -> None:
        self.minval = minval
        self.maxval = maxval
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Draws of `shape`."""
        draw = random.randint if is_int(dtype) else random.uniform
        return draw(shape, self.minval, self.maxval, dtype, self.seed)


def compute_fans(
    shape: Sequence[int],
    input_axes: Sequence[int] | None = None,
    output_axes: Sequence[int] | None = None,
) -> tuple[int, int]:
    """Returns how many inputs feed each output of a weight, and how many outputs each input feeds.

    Args:
        shape: `(inputs, outputs)`, or a convolution's `(*window, inputs, outputs)`.
        input_axes: the axes of inputs, where `shape` has a different form; with `output_axes`.
        output_axes: the axes of outputs.
    """
    if input_axes is not None and output_axes is not None:
        return math.prod(shape[i] for i in input_axes), math.prod(shape[i] for i in output_axes)
    if len(shape) == 0:
        return 1, 1
    if len(shape) == 1:
        return int(shape[0]), int(shape[0])
    # A kernel of a convolution has the shape (*window, inputs, outputs).
    window_size = math.prod(shape[:-2])
    return window_size * shape[-2], window_size * shape[-1]


class VarianceScaling(RandomInitializer):
    """Draws with variance `scale / n`, where `n` counts the units that the weight connects.

    For a matrix of shape `(inputs, outputs)`, `fan_in` is `inputs` and `fan_out` is `outputs`; for
    the kernel of a convolution both are multiplied by the size of the window.

    Args:
        scale: positive factor of the variance. Default: `1.0`.
        mode: the meaning of `n`: `"fan_in"` (inputs), `"fan_out"` (outputs) or `"fan_avg"` (their mean).
            Default: `"fan_in"`.
        distribution: `"truncated_normal"` (or `"normal"`), `"untruncated_normal"` or `"uniform"`.
            Default: `"truncated_normal"`.
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Raises:
        ValueError: if `scale` is not positive, or if `mode` or `distribution` is unknown.

    Reference:
        He et al., "Delving deep into rectifiers", 2015.

    Example:
        >>> values = VarianceScaling(2.0, seed=1)((1000, 10))
        >>> round(float(tf.math.reduce_variance(values)), 3)
        0.002
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive. Received: scale={scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                'Invalid `mode` argument: it must be "fan_in", "fan_out" or "fan_avg". '
                f"Received: mode={mode!r}"
            )
        distribution = distribution.lower()
        if distribution == "normal":
            distribution = "truncated_normal"
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                'Invalid `distribution` argument: it must be "uniform", "truncated_normal" or '
                '"untruncated_normal". '
                f"Received: distribution={distribution!r}"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.input_axes = input_axes
        self.output_axes = output_axes
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Draws of `shape`."""
        fan_in, fan_out = compute_fans(shape, self.input_axes, self.output_axes)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "truncated_normal":
            # The cut makes the distribution narrower; this makes up for it.
            stddev = math.sqrt(variance) / _TRUNCATED_STDDEV
            return random.truncated_normal(shape, 0.0, stddev, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        # The variance of a uniform distribution on [-limit, limit] is limit ** 2 / 3.
        limit = math.sqrt(3.0 * variance)
        return random.uniform(shape, -limit, limit, dtype, self.seed)


class _NamedScaling(VarianceScaling):
    """A `VarianceScaling` whose first three arguments are fixed by the paper it is named after.

    Args:
        seed: see `RandomInitializer`.
        input_axes: see `VarianceScaling`.
        output_axes: see `VarianceScaling`.
    """

    _fixed: tuple[float, str, str]

    @with_checked_values
    @constructors.named_after_class
    def __init__(
        self,
        seed: Any = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(*self._fixed, seed, input_axes, output_axes)


class GlorotUniform(_NamedScaling):
    """Draws from a uniform distribution on `[-limit, limit]`, `limit = sqrt(6 / (fan_in + fan_out))`.

    It is the default of the kernels of most layers.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
            networks", 2010.

    Example:
        >>> values = GlorotUniform(seed=1)((3, 3))
        >>> bool(tf.reduce_all(tf.abs(values) <= 1.0))
        True
    """

    _fixed = (1.0, "fan_avg", "uniform")


class GlorotNormal(_NamedScaling):
    """Draws from a truncated normal distribution of variance `2 / (fan_in + fan_out)`.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
            networks", 2010.

    Example:
        >>> values = GlorotNormal(seed=1)((100, 100))
        >>> round(float(tf.math.reduce_variance(values)), 3)
        0.01
    """

    _fixed = (1.0, "fan_avg", "truncated_normal")


class LecunNormal(_NamedScaling):
    """Draws from a truncated normal distribution of variance `1 / fan_in`, which fits `selu`.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> values = LecunNormal(seed=1)((100, 100))
        >>> round(float(tf.math.reduce_variance(values)), 3)
        0.01
    """

    _fixed = (1.0, "fan_in", "truncated_normal")


class LecunUniform(_NamedScaling):
    """Draws from a uniform distribution on `[-limit, limit]`, `limit = sqrt(3 / fan_in)`.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> values = LecunUniform(seed=1)((3, 3))
        >>> bool(tf.reduce_all(tf.abs(values) <= 1.0))
        True
    """

    _fixed = (1.0, "fan_in", "uniform")


class HeNormal(_NamedScaling):
    """Draws from a truncated normal distribution of variance `2 / fan_in`, which fits the rectifier.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        He et al., "Delving deep into rectifiers", 2015.

    Example:
        >>> values = HeNormal(seed=1)((100, 100))
        >>> round(float(tf.math.reduce_variance(values)), 3)
        0.02
    """

    _fixed = (2.0, "fan_in", "truncated_normal")


class HeUniform(_NamedScaling):
    """Draws from a uniform distribution on `[-limit, limit]`, `limit = sqrt(6 / fan_in)`.

    It fits the rectifier.

    Args:
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.
        input_axes: axes of the shape that count as inputs; `None` for the last but one, with the
            axes of a convolution's window.
        output_axes: axes of the shape that count as outputs; `None` for the last, with the axes of
            a convolution's window.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Reference:
        He et al., "Delving deep into rectifiers", 2015.

    Example:
        >>> values = HeUniform(seed=1)((6, 3))
        >>> bool(tf.reduce_all(tf.abs(values) <= 1.0))
        True
    """

    _fixed = (2.0, "fan_in", "uniform")


class Orthogonal(RandomInitializer):
    """A random matrix with orthonormal rows or columns (whichever are fewer), times `gain`.

    A shape of more than two axes means the matrix `(product of all but the last, last)`.

    Args:
        gain: factor of the values. Default: `1.0`.
        seed: integer, a `SeedGenerator` or its configuration; `None` for a seed that Python's
            `random` draws when the initializer is made. With an integer or `None`, each call draws
            the same values.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Raises:
        ValueError: if the shape has fewer than two axes.

    Reference:
        Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
            networks", 2014.

    Example:
        >>> matrix = Orthogonal(seed=1)((2, 3))
        >>> np.allclose(matrix @ tf.transpose(matrix), np.eye(2), atol=1e-6)
        True
    """

    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        self.gain = gain
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns the matrix, in `shape`."""
        if len(shape) < 2:
            raise ValueError(
                f"`Orthogonal` initializes shapes of two axes or more. Received: shape={tuple(shape)}"
            )
        num_rows, num_columns = math.prod(shape[:-1]), shape[-1]
        # QR gives orthonormal columns only to a matrix that has at least as many rows.
        tall = (max(num_rows, num_columns), min(num_rows, num_columns))
        dtype = standardize_dtype(dtype)
        # TensorFlow factorizes no 16-bit matrices.
        drawn_dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        q, r = tf.linalg.qr(random.normal(tall, dtype=drawn_dtype, seed=self.seed))
        # With positive diagonals of R the factor Q is unique, hence evenly distributed.
        q *= tf.sign(tf.linalg.diag_part(r))
        if num_rows < num_columns:
            q = tf.transpose(q)
        return tf.cast(self.gain * tf.reshape(q, shape), dtype)
