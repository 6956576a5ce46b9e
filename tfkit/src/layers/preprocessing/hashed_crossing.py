"""A layer that maps combinations of features to indices, by a hash."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import attributes
from tfkit.src.layers.preprocessing.base import is_plain
from tfkit.src.layers.preprocessing.encoding import IndexEncoding
from tfkit.src.layers.preprocessing.hashing import output_dtype

_MODES = ("int", "one_hot")


class HashedCrossing(IndexEncoding):
    """An index for each combination of the values of features: `hash((a, b, ...)) % num_bins`.

    The hash is FarmHash-64, as in `tf.sparse.cross_hashed`.

    Args:
        num_bins: positive integer, the number of indices.
        output_mode: `"int"` for the index, `"one_hot"` for a vector. Default: `"int"`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        name: name of the layer, a string; `None` for one that is made from the class's name.
        dtype: dtype of the outputs; `None` for `int64`, and for vectors for the global one.
        **kwargs: arguments of every layer, with their defaults: `trainable`, whether training changes the
            weights (`True`); `autocast`, which has no effect here; `activity_regularizer`, a penalty on the
            outputs (`None`).

    Input shape: A list or tuple of at least two tensors of strings or integers, each of shape
        `(batch, 1)`, `(batch,)` or `()`.

    Output shape: The shape of each input for `"int"`; `(batch, num_bins)` for `"one_hot"`.

    Raises:
        ValueError: if `output_mode` or the inputs are anything else.

    Example:
        >>> layer = HashedCrossing(5)
        >>> layer((tf.constant(["A", "B", "A"]), tf.constant([101, 101, 102]))).numpy().tolist()
        [1, 4, 3]
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=output_dtype(self, output_mode, dtype), **kwargs)
        self._take_mode(output_mode, sparse, _MODES)
        self.num_bins = num_bins
        self.autocast = False

    @property
    def input_dtype(self) -> str:
        """The dtype of inputs when the layer is built only from shapes."""
        return "int64"

    def _tfkit_as_tensors(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments as tensors; columns that are lists are converted separately."""
        made = [
            [tf.convert_to_tensor(column) if is_plain(column) else column for column in arg]
            if isinstance(arg, (list, tuple))
            else arg
            for arg in args
        ]
        return super()._tfkit_as_tensors(tuple(made), kwargs)

    def call(self, inputs: Any) -> Any:
        """Returns the indices of the combinations."""
        self._check(inputs)
        shape = inputs[0].shape
        # `cross_hashed` crosses the entries within a row: with one in each column, a row has one
        # combination.
        columns = [tf.reshape(_crossable(column), [-1, 1]) for column in inputs]
        crossed = tf.sparse.cross_hashed(columns, self.num_bins)
        flat = tf.reshape(crossed.values, tf.shape(inputs[0]))  # One for each row.
        indices = tf.ensure_shape(flat, shape)
        if self.output_mode == "int":
            return tf.cast(indices, self.compute_dtype)
        return self._encoded(indices)

    def _depth(self) -> int:
        return self.num_bins

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the outputs for inputs of a list of shapes."""
        return super().compute_output_shape(input_shape[0])

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns the outputs for symbolic inputs."""
        self._check(inputs)
        return super().compute_output_spec(inputs[0])

    def _check(self, inputs: Any) -> None:
        """Raises an error unless there are two or more columns of integers or strings."""
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                f"`HashedCrossing` should be called on a list or tuple of inputs. Received: inputs={inputs}"
            )
        if len(inputs) < 2:
            raise ValueError(
                f"`HashedCrossing` should be called on at least two inputs. Received: inputs={inputs}"
            )
        sizes = [tf.TensorShape(getattr(column, "shape", None))[:1] for column in inputs]
        if not all(each.is_compatible_with(sizes[0]) for each in sizes):
            raise ValueError(
                f"All `HashedCrossing` inputs should have equal shape. Received: inputs={inputs}"
            )
        for column in inputs:
            if isinstance(column, (tf.SparseTensor, tf.RaggedTensor)):
                raise ValueError(
                    f"All `HashedCrossing` inputs should be dense tensors. Received: inputs={inputs}"
                )
            rank = len(column.shape)
            if rank > 2 or (rank == 2 and column.shape[1] != 1):
                raise ValueError(
                    "All `HashedCrossing` inputs should have shape `()`, `(batch_size,)` or "
                    f"`(batch_size, 1)`. Received: inputs={inputs}"
                )
            dtype = tf.as_dtype(column.dtype)
            if not (dtype.is_integer or dtype == tf.string):
                raise ValueError(
                    "All `HashedCrossing` inputs should have an integer or string dtype. "
                    f"Received: inputs={inputs}"
                )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return attributes(self, "num_bins", "output_mode", "sparse", "name", "dtype")


def _crossable(column: tf.Tensor) -> tf.Tensor:
    """Returns integers as int64, which `tf.sparse.cross_hashed` requires; strings unchanged."""
    return column if column.dtype == tf.string else tf.cast(column, tf.int64)
