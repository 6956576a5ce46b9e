"""A layer that maps numbers to indices of bins."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.layers.checks import as_floats, is_integer
from tfkit.src.layers.preprocessing import quantiles
from tfkit.src.layers.preprocessing.adapting import batches, kept_on_error, refuse_texts
from tfkit.src.layers.preprocessing.base import at_least_32_bits
from tfkit.src.layers.preprocessing.encoding import IndexEncoding, on_entries

_MODES = ("int", "one_hot", "multi_hot", "count")


class Discretization(IndexEncoding):
    """The index of the bin of each number: the number of boundaries that are not above it.

    The boundaries are given, or `adapt(data)` finds them, so that all bins contain about equally many
    numbers.

    Args:
        bin_boundaries: numbers in increasing order; with n of them there are n + 1 bins. `None` if
            `adapt` is to find them.
        num_bins: number of bins that `adapt` makes; `None` if `bin_boundaries` is given.
        epsilon: how much of the data a bin may have too many or too few, from 0 to 1: `adapt` keeps
            about `1 / epsilon` numbers. Default: `0.01`.
        output_mode: `"int"` for the index; `"one_hot"` for a vector for each number; `"multi_hot"` for a
            vector for each sample, with a 1 for each bin that occurs; `"count"` for one with the number
            of times. Default: `"int"`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        dtype: dtype of vectors, and to which float inputs are cast unless it has 16 bits; `None` for the
            global one. Indices are `int32`.
        name: name of the layer, a string; `None` for one that is made from the class's name.

    Input shape: Any, of numbers; dense, ragged or sparse.

    Output shape: The input shape for `"int"`; `(..., num_bins)` for `"one_hot"`; without the axis after
        the batch, and with `num_bins` at the end, for the others.

    Raises:
        ValueError: if neither or both of `bin_boundaries` and `num_bins` are given, or if the layer is called
            before `adapt`.

    Example:
        >>> layer = Discretization(bin_boundaries=[0.0, 1.0])
        >>> layer(np.array([[-0.5, 0.0, 7.0]])).numpy().tolist()
        [[0, 1, 2]]
        >>> layer = Discretization(num_bins=2)
        >>> layer.adapt(np.arange(10.0))
        >>> layer(np.array([1.0, 8.0])).numpy().tolist()
        [0, 1]
    """

    _tfkit_set_by_files = ("bin_boundaries",)

    def __init__(
        self,
        bin_boundaries: Any = None,
        num_bins: int | None = None,
        epsilon: float = 0.01,
        output_mode: str = "int",
        sparse: bool = False,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._take_mode(output_mode, sparse, _MODES)
        if num_bins is not None and (not is_integer(num_bins) or num_bins < 0):
            raise ValueError(
                f"`num_bins` must be an integer, greater than or equal to 0. Received: `num_bins={num_bins}`"
            )
        if num_bins is not None and bin_boundaries is not None:
            raise ValueError(
                "Both `num_bins` and `bin_boundaries` should not be set. Received: "
                f"`num_bins={num_bins}` and `bin_boundaries={bin_boundaries}`"
            )
        if num_bins is None and bin_boundaries is None:
            raise ValueError("You need to set either `num_bins` or `bin_boundaries`.")
        boundaries = [] if bin_boundaries is None else _floats(bin_boundaries)
        if any(later < earlier for earlier, later in itertools.pairwise(boundaries)):
            raise ValueError(
                "`bin_boundaries` must be in increasing order. "
                f"Received: bin_boundaries={bin_boundaries}. Pass `sorted(bin_boundaries)`."
            )
        self.input_bin_boundaries = bin_boundaries
        self.bin_boundaries = boundaries
        self.num_bins = num_bins
        self.epsilon = epsilon
        self.summary = np.zeros((2, 0), "float32")  # (values, weights)

    @property
    def input_dtype(self) -> str:
        """The dtype of the inputs: a float type for integers too, because boundaries may have fractions.

        It never has 16 bits, which would move numbers near a boundary to a different bin.
        """
        dtype = self.compute_dtype
        return at_least_32_bits(dtype) if tf.as_dtype(dtype).is_floating else settings.floatx()

    @property
    def output_dtype(self) -> str:
        """The dtype of the outputs."""
        return "int32" if self.output_mode == "int" else self.compute_dtype

    # --- Boundaries -----------------------------------------------------------------------------------

    @shortened
    def adapt(self, data: Any, steps: int | None = None) -> None:
        """Finds the boundaries of `num_bins` bins that contain about equally many numbers of the data.

        Args:
            data: an array or tensor; or batches: a `tf.data.Dataset`, a `PyDataset`, a list of arrays, any
                iterable. Only the first item of tuples `(x, y)` is used.
            steps: number of batches to read; `None` for all. An array is one batch.

        Raises:
            ValueError: if `bin_boundaries` was given.
        """
        self._check_may_adapt()
        with kept_on_error(self, "summary", "bin_boundaries"):
            self.reset_state()
            for batch in batches(self, data, steps):
                self.update_state(batch)
            self.finalize_state()

    def update_state(self, data: Any) -> None:
        """Adds a batch to the summary; `finalize_state` computes boundaries from it."""
        self._check_may_adapt()
        if isinstance(data, (tf.RaggedTensor, tf.SparseTensor)):
            data = data.flat_values if isinstance(data, tf.RaggedTensor) else data.values
        refuse_texts(self, data)
        new = quantiles.summary_of(np.asarray(data, "float32"), self.epsilon)
        self.summary = quantiles.joined(self.summary, new, self.epsilon)

    def finalize_state(self) -> None:
        """Computes boundaries from the summary of all batches."""
        if self.input_bin_boundaries is None and self.summary.size:
            found = quantiles.boundaries(self.summary, self.num_bins or 0)
            self.bin_boundaries = _floats(found)

    def reset_state(self) -> None:
        """Discards the summary of earlier batches."""
        if self.input_bin_boundaries is None:
            self.summary = np.zeros((2, 0), "float32")

    def _check_may_adapt(self) -> None:
        if self.num_bins == 0 or not self.epsilon > 0:
            raise ValueError(
                "`adapt()` of a Discretization layer needs at least one bin and an `epsilon` above 0. "
                f"Received: num_bins={self.num_bins} and epsilon={self.epsilon}"
            )
        if self.input_bin_boundaries is not None:
            raise ValueError(
                "Cannot adapt a Discretization layer that has been initialized with `bin_boundaries`, use "
                "`num_bins` instead."
            )

    # --- Calls ----------------------------------------------------------------------------------------

    def call(self, inputs: Any) -> Any:
        """Returns the bins of `inputs`."""
        if not self.bin_boundaries and self.input_bin_boundaries is None and not self.summary.size:
            raise ValueError(
                f"Layer {self._tfkit.title} has no boundaries yet. You need to either pass the "
                "`bin_boundaries` argument at construction time or call `adapt(data)` before calling the "
                "layer."
            )
        bins = on_entries(inputs, self._bins)
        return bins if self.output_mode == "int" else self._encoded(bins)

    def _bins(self, values: tf.Tensor) -> tf.Tensor:
        if values.dtype.is_integer:
            values = tf.cast(values, self.input_dtype)
        values = as_floats(self, values)
        boundaries = tf.constant(self.bin_boundaries, values.dtype)
        # "right": a value that equals a boundary belongs to the bin above it.
        flat = tf.searchsorted(boundaries, tf.reshape(values, [-1]), side="right")
        bins = tf.reshape(flat, tf.shape(values))
        # NaN comes after all numbers, as in NumPy; XLA's search finds it before them.
        return tf.where(tf.math.is_nan(values), len(self.bin_boundaries), bins)

    def _dtypes(self) -> tuple[str, str]:
        return "int32", self.compute_dtype

    def _depth(self) -> int:
        known = bool(self.bin_boundaries) or self.input_bin_boundaries is not None
        return len(self.bin_boundaries) + 1 if known else int(self.num_bins or 0)

    # --- Files ----------------------------------------------------------------------------------------

    def save_own_variables(self, store: Any) -> None:
        """Stores the boundaries that `adapt` has found in `store`."""
        if self.input_bin_boundaries is None and self.bin_boundaries:
            # Python's floats, without a rounding.
            store["bin_boundaries"] = np.array(self.bin_boundaries, "float64")

    def load_own_variables(self, store: Any) -> None:
        """Loads the boundaries that `save_own_variables` has stored."""
        if "bin_boundaries" in store:
            self.bin_boundaries = _floats(store["bin_boundaries"])

    def _tfkit_keras_variables(self) -> dict[str, Any]:
        """Returns nothing, because Keras's file has the boundaries in the configuration."""
        return {}

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, including boundaries that `adapt` has found."""
        names = ("num_bins", "epsilon", "output_mode", "sparse", "name", "dtype")
        boundaries = self.bin_boundaries or self.input_bin_boundaries
        return {"bin_boundaries": boundaries, **attributes(self, *names)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a layer; boundaries in addition to `num_bins` are those that its `adapt` has found."""
        config = dict(config)
        adapted = config.get("bin_boundaries") is not None and config.get("num_bins") is not None
        found = config.pop("bin_boundaries") if adapted else None
        layer = super().from_config(config)
        if adapted:
            layer.bin_boundaries = _floats(found)
        return layer


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values).tolist()]
