"""A layer that shifts and scales features to mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.core import building
from tfkit.src.layers.checks import as_floats, is_integer
from tfkit.src.layers.preprocessing.adapting import batches, refuse_texts
from tfkit.src.layers.preprocessing.base import Preprocessing, at_least_32_bits
from tfkit.src.layers.sparse import dense

_PIECE = 1 << 22  # The number of values that are converted to float64 at once.


class Moments:
    """Mean and variance over some axes, of all arrays so far, in float64.

    Pieces are joined by their means and their sums of squared deviations, so nothing is lost where the mean
    is large compared with the deviation.

    Args:
        reduced: axes to compute over.
        kept: the other axes.

    Reference: Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm for computing
    sample variances".
    """

    def __init__(self, reduced: tuple[int, ...], kept: tuple[int, ...]) -> None:
        self._reduced = reduced
        self._kept = kept
        self.count = 0
        self.mean = np.zeros(())
        self._squares = np.zeros(())

    @property
    def variance(self) -> np.ndarray:
        """The variance, of the whole population."""
        return self._squares / self.count

    def add(self, array: np.ndarray) -> None:
        """Adds an array, in pieces of rows."""
        rows = max(1, _PIECE // max(1, math.prod(array.shape[1:])))
        # Rows with their own statistics cannot be split over pieces.
        if 0 not in self._reduced or array.ndim == 0:
            rows = max(1, len(array) if array.ndim else 1)
        for start in range(0, len(array) if array.ndim else 1, rows):
            piece = array[start : start + rows] if array.ndim else array
            self._add(np.asarray(piece, np.float64))

    def _add(self, piece: np.ndarray) -> None:
        count = math.prod(piece.shape[axis] for axis in self._reduced)
        if not count:
            return
        mean = piece.mean(axis=self._reduced)
        deviations = piece - np.expand_dims(mean, self._reduced)
        squares = np.square(deviations).sum(axis=self._reduced)
        total = self.count + count
        step = mean - self.mean
        # Chan, Golub and LeVeque (1979): sums of squared deviations of two parts, without the
        # cancellation of mean(x ** 2) - mean(x) ** 2.
        self._squares = self._squares + squares + np.square(step) * (self.count * count / total)
        self.mean = self.mean + step * (count / total)
        self.count = total


class Normalization(Preprocessing):
    """Computes `(inputs - mean) / sqrt(variance)`, with mean and variance of data seen by `adapt`.

    `adapt(data)` computes them, or they are given. Where the variance is 0, `inputs - mean` is divided by
    a tiny number.

    Args:
        axis: axes whose entries each have their own mean and variance: an integer or a tuple; axis 0 is the
            batch. `None` for one mean and variance of everything. Default: `-1`.
        mean: value of the mean, a number or an array of the sizes of `axis`; `None` to compute it from data.
        variance: value of the variance, in the same form. Both must be given, or neither.
        invert: whether to go back: `mean + inputs * sqrt(variance)`. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any, of numbers; the sizes of `axis` must be known.

    Output shape: The same.

    Raises:
        ValueError: if one of `mean` and `variance` is given without the other, if their shapes differ, or if
            the inputs do not have an axis of `axis`.

    Example:
        >>> layer = Normalization()
        >>> layer.adapt(np.array([[1.0, 10.0], [3.0, 30.0]]))
        >>> layer(np.array([[1.0, 30.0]])).numpy().tolist()
        [[-1.0, 1.0]]
    """

    def __init__(
        self,
        axis: Any = -1,
        mean: Any = None,
        variance: Any = None,
        invert: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        axes = axis if isinstance(axis, (list, tuple)) else () if axis is None else (axis,)
        if not all(map(is_integer, axes)):
            raise TypeError(
                f"`axis` must be an integer, a tuple of integers or None. Received: {axis!r}"
            )
        self.axis = tuple(axes)
        self.invert = invert
        self.supports_masking = True
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. "
                f"Received: mean={mean} and variance={variance}"
            )
        self.input_mean: Any = None if mean is None else _listed(mean)
        self.input_variance: Any = None if variance is None else _listed(variance)
        shapes = np.asarray(mean).shape, np.asarray(variance).shape
        if shapes[0] != shapes[1]:
            raise ValueError(
                "When setting values directly, `mean` and `variance` must have the same shape. Received: "
                f"mean of shape {shapes[0]} and variance of shape {shapes[1]}"
            )
        if variance is not None and np.any(np.asarray(variance) < 0):
            raise ValueError(f"`variance` must not be negative. Received: variance={variance}")

    def build(self, input_shape: Any) -> None:
        """Makes `mean` and `variance`, of the sizes of `axis`, and `count`; none if they are given."""
        shape = tuple(input_shape)
        rank = len(shape)
        if any(not -rank <= axis < rank for axis in self.axis):
            raise ValueError(
                f"All `axis` values must be in the range [-ndim, ndim). Received: inputs.shape={shape}, of "
                f"ndim={rank}, and axis={self.axis}"
            )
        kept = sorted({axis % rank for axis in self.axis})
        for axis in kept:
            if shape[axis] is None:
                raise ValueError(
                    "All `axis` values to be kept must have a known shape. Received: "
                    f"axis={self.axis}, inputs.shape={shape}, with unknown axis at index {axis}"
                )
        self._kept_axes = tuple(kept)
        self._reduced_axes = tuple(axis for axis in range(rank) if axis not in kept)
        self._sizes = tuple(shape[axis] for axis in kept)
        # 1 along the axes that the mean was taken over: statistics then broadcast to the inputs.
        self._broadcast_shape = tuple(shape[axis] if axis in kept else 1 for axis in range(rank))
        if self.input_mean is not None:
            self._given(self.input_mean)  # Raises an error if the shapes do not fit.
            return
        options: Any = {"shape": self._sizes, "trainable": False, "autocast": False}
        self.adapt_mean = self.add_weight(name="mean", initializer="zeros", **options)
        self.adapt_variance = self.add_weight(name="variance", initializer="ones", **options)
        # For compatibility with Keras's files; always 0.
        self.count = self.add_weight(
            name="count", shape=(), dtype="int64", initializer="zeros", trainable=False
        )
        self.finalize_state()

    def _given(self, values: Any) -> np.ndarray:
        """Returns a mean or variance of the constructor, in the form of the inputs."""
        array = np.asarray(values, "float32" if self.dtype != "float64" else "float64")
        try:
            array = np.broadcast_to(array, self._sizes)
        except ValueError:
            raise ValueError(
                f"`mean` and `variance` of layer {self._tfkit.title} must have the sizes of "
                f"axis={self.axis}, which are {self._sizes}. Received: shape {array.shape}"
            ) from None
        return array.reshape(self._broadcast_shape)

    @property
    def input_dtype(self) -> str:
        """The dtype of the inputs, in which the layer computes: never of 16 bits."""
        return at_least_32_bits(self.compute_dtype)

    @property
    def mean(self) -> Any:
        """The mean, in a shape that fits the inputs; `None` if the layer is not built."""
        return self._statistic("adapt_mean", self.input_mean, self.compute_dtype)

    @property
    def variance(self) -> Any:
        """The variance, in the same form."""
        return self._statistic("adapt_variance", self.input_variance, self.compute_dtype)

    def _statistic(self, weight: str, given: Any, dtype: Any) -> Any:
        if not hasattr(self, "_broadcast_shape"):
            return None
        if given is not None:
            return tf.cast(self._given(given), dtype)
        return tf.cast(tf.reshape(getattr(self, weight), self._broadcast_shape), dtype)

    @shortened
    def adapt(self, data: Any) -> None:
        """Computes the mean and variance of data, in float64, in one pass, whatever the data's size.

        Args:
            data: an array or tensor; or batches: a `tf.data.Dataset`, a `PyDataset`, a list of arrays, any
                iterable. Only the first item of tuples `(x, y)` is used.

        Raises:
            ValueError: if `mean` and `variance` were given, for no data, and for shapes that differ.
        """
        if self.input_mean is not None:
            raise ValueError(
                f"Layer {self._tfkit.title} was made with `mean` and `variance`, and cannot adapt to data. "
                "Leave them out."
            )
        with building.undone_on_error([self]):  # The first batch builds it.
            self._adapt(data)

    def _adapt(self, data: Any) -> None:
        moments: Moments | None = None
        for batch in batches(self, data):
            if isinstance(batch, tf.RaggedTensor):
                raise ValueError(
                    f"Layer {self._tfkit.title} expects batches of rows that are all of one shape. Received: "
                    f"a ragged tensor of shape {tuple(batch.shape)}. Pass its values, `x.flat_values`, with "
                    "`axis=None`."
                )
            array = dense(batch)
            array = array if isinstance(array, np.ndarray) else array.numpy()
            refuse_texts(self, array)
            if not self._tfkit.built:
                self.build(array.shape)
            self._check_fits(array.shape)
            moments = moments or Moments(self._reduced_axes, self._kept_axes)
            moments.add(array)
        assert moments is not None
        self.adapt_mean.assign(moments.mean.reshape(self._sizes))
        self.adapt_variance.assign(moments.variance.reshape(self._sizes))
        self.finalize_state()

    def _check_fits(self, shape: tuple[int, ...]) -> None:
        sizes = tuple(shape[axis] for axis in self._kept_axes if axis < len(shape))
        if len(shape) != len(self._broadcast_shape) or sizes != self._sizes:
            raise self._misfit(shape)

    def _misfit(self, shape: Any) -> ValueError:
        return ValueError(
            f"Layer {self._tfkit.title} was built for inputs of {len(self._broadcast_shape)} axes, with "
            f"sizes {self._sizes} at axis={self.axis}. Received: data with an incompatible shape "
            f"{tuple(shape)}"
        )

    def finalize_state(self) -> None:
        """Does nothing: calls read the weights. Subclasses may override it.

        `adapt` calls it at its end, and `build`, unless `mean` and `variance` were given.
        """

    def call(self, inputs: Any) -> Any:
        """Returns `inputs`, normalized."""
        dtype = self.input_dtype
        inputs = tf.cast(as_floats(self, dense(inputs)), dtype)
        mean = self._statistic("adapt_mean", self.input_mean, dtype)
        variance = self._statistic("adapt_variance", self.input_variance, dtype)
        try:
            tf.broadcast_static_shape(inputs.shape, mean.shape)
        except ValueError:
            raise self._misfit(inputs.shape) from None
        # A constant feature has a variance of 0, and becomes 0.
        deviation = tf.maximum(tf.sqrt(variance), settings.epsilon())
        outputs = mean + inputs * deviation if self.invert else (inputs - mean) / deviation
        return tf.cast(outputs, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments; the results of `adapt` are weights."""
        config = super().get_config()
        return config | {"mean": self.input_mean, "variance": self.input_variance}


def _listed(values: Any) -> Any:
    """Returns numbers as lists, for configurations."""
    return np.asarray(values).tolist() if not isinstance(values, (int, float)) else float(values)
