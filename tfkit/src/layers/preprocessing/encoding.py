"""Encodes indices as vectors: one per index (`one_hot`) or one per sample (`multi_hot`, `count`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.layers.preprocessing.base import Preprocessing, check_mode
from tfkit.src.symbolic.tensors import KerasTensor


def encode(
    inputs: Any, mode: str, depth: int, dtype: str, sparse: bool = False, weights: Any = None
) -> Any:
    """Returns vectors of `depth` entries for indices; indices outside of `[0, depth)` are left out.

    Args:
        inputs: integer tensor, dense, ragged or sparse.
        mode: `"one_hot"`: a vector for each index. `"count"`: how often each index is in a sample, that is
            along axis 1 (or in all of a vector). `"multi_hot"`: whether it occurs.
        depth: size of a vector.
        dtype: dtype of the outputs.
        sparse: whether to return a `tf.SparseTensor`.
        weights: the weight of each index, in the form of `inputs`; `None` for one.
    """
    if mode == "one_hot":
        return _one_hot(inputs, depth, dtype, sparse)
    rows, ids, sizes = _entries(inputs)
    known = (ids >= 0) & (ids < depth)
    # Counts are summed in at least 32 bits: float16 cannot count above 2048.
    wide = "float64" if dtype == "float64" else "float32"
    values = tf.ones_like(ids, wide) if weights is None else tf.cast(_flat(weights), wide)
    if sparse:
        outputs = _sparse_sums(rows, ids, values, known, sizes, depth)
        if mode == "multi_hot":
            outputs = outputs.with_values(tf.ones_like(outputs.values))
        outputs = tf.cast(outputs, dtype)
    else:
        # Indices out of range add nothing. Sums over segments take ten times as long.
        places = tf.where(known, rows * depth + ids, 0)
        count = tf.cast(tf.reduce_prod(tf.stack([1, *sizes])), tf.int64) * depth
        outputs = tf.scatter_nd(places[:, None], tf.where(known, values, 0), count[None])
        if mode == "multi_hot":
            outputs = tf.minimum(outputs, 1)
        outputs = tf.cast(tf.reshape(outputs, [*sizes, depth]), dtype)
    shape = encoded_shape(inputs.shape, mode, depth)
    return _with_shape(outputs, shape)


def encoded_shape(shape: Any, mode: str, depth: int | None) -> tuple[int | None, ...]:
    """Returns the shape of the result of `encode` for inputs of a shape."""
    sizes = tuple(shape)
    if mode == "one_hot":
        if not sizes:
            return (1, depth)
        return (*(sizes[:-1] if len(sizes) > 1 and sizes[-1] == 1 else sizes), depth)
    return (*sizes[:1], *sizes[2:], depth) if len(sizes) > 1 else (depth,)


def encoded_spec(inputs: Any, mode: str, depth: int | None, dtype: str, sparse: bool) -> Any:
    """Returns the result of `encode` as a symbolic tensor."""
    shape = encoded_shape(inputs.shape, mode, depth)
    ragged = bool(inputs.ragged) and mode == "one_hot"
    return KerasTensor(shape, dtype, sparse=sparse and not ragged, ragged=ragged)


def _one_hot(inputs: Any, depth: int, dtype: str, sparse: bool) -> Any:
    if isinstance(inputs, tf.RaggedTensor):
        ids = tf.cast(inputs.flat_values, tf.int64)
        return inputs.with_flat_values(tf.one_hot(ids, depth, dtype=dtype))
    if isinstance(inputs, tf.SparseTensor):
        raise ValueError(
            "`output_mode='one_hot'` needs dense or ragged inputs: a position without an entry has no index. "
            f"Received: a sparse tensor of shape {tuple(inputs.shape)}. Use `tf.sparse.to_dense`, or "
            "`output_mode='multi_hot'`."
        )
    if not inputs.dtype.is_integer:
        inputs = tf.cast(inputs, tf.int64)
    shape = encoded_shape(inputs.shape, "one_hot", depth)
    if inputs.shape.rank == 0:
        inputs = inputs[None]
    elif len(shape) == inputs.shape.rank:
        inputs = tf.squeeze(inputs, -1)
    if not sparse:
        return tf.one_hot(inputs, depth, dtype=dtype)
    ids = tf.cast(inputs, tf.int64)
    places = tf.where((ids >= 0) & (ids < depth))
    indices = tf.concat([places, tf.gather_nd(ids, places)[:, None]], axis=1)
    sizes = tf.concat([tf.shape(ids, tf.int64), [depth]], axis=0)
    return _with_shape(tf.SparseTensor(indices, tf.ones(tf.shape(places)[:1], dtype), sizes), shape)


def _entries(inputs: Any) -> tuple[tf.Tensor, tf.Tensor, list[Any]]:
    """Returns the sample number of each index, the indices, and the sizes of the axes of samples."""
    if isinstance(inputs, (tf.RaggedTensor, tf.SparseTensor)) and inputs.shape.rank > 2:
        raise ValueError(
            "Ragged and sparse inputs are encoded along their last axis, and have two axes at most. "
            f"Received: a {type(inputs).__name__} of shape {tuple(inputs.shape)}"
        )
    if isinstance(inputs, tf.RaggedTensor):
        rows = tf.cast(inputs.value_rowids(), tf.int64)
        return rows, tf.cast(inputs.flat_values, tf.int64), [inputs.nrows(tf.int64)]
    if isinstance(inputs, tf.SparseTensor):
        ids = tf.cast(inputs.values, tf.int64)
        if inputs.shape.rank == 1:
            return tf.zeros_like(ids), ids, []
        return inputs.indices[:, 0], ids, [inputs.dense_shape[0]]
    if inputs.shape.rank is None:
        raise ValueError(
            "Expected inputs whose number of axes is known. Received: a tensor of any."
        )
    ids = tf.cast(inputs, tf.int64)
    rank = ids.shape.rank
    if rank < 2:
        ids = tf.reshape(ids, [-1])
        return tf.zeros_like(ids), ids, []
    shape = tf.unstack(tf.shape(ids, tf.int64), num=rank)
    sizes = [shape[0], *shape[2:]]
    samples = tf.reshape(
        tf.range(tf.reduce_prod(tf.stack(sizes))), tf.stack([sizes[0], 1, *sizes[1:]])
    )
    return tf.reshape(tf.broadcast_to(samples, tf.stack(shape)), [-1]), tf.reshape(ids, [-1]), sizes


def _flat(weights: Any) -> tf.Tensor:
    if isinstance(weights, tf.RaggedTensor):
        return weights.flat_values
    return weights.values if isinstance(weights, tf.SparseTensor) else tf.reshape(weights, [-1])


def _sparse_sums(
    rows: tf.Tensor,
    ids: tf.Tensor,
    values: tf.Tensor,
    known: tf.Tensor,
    sizes: list[Any],
    depth: int,
) -> tf.SparseTensor:
    """Returns the sums of the values of equal indices in a sample, with an entry for each existing index."""
    places = tf.boolean_mask(rows * depth + ids, known)
    # Entries of a sparse tensor must be in order, and each may exist once.
    order = tf.argsort(places, stable=True)
    found, segments = tf.unique(tf.gather(places, order))
    sums = tf.math.unsorted_segment_sum(
        tf.gather(tf.boolean_mask(values, known), order), segments, tf.size(found)
    )
    shape = tf.stack([*sizes, tf.constant(depth, tf.int64)])
    indices = tf.transpose(tf.unravel_index(found, shape)) if sizes else found[:, None]
    return tf.SparseTensor(tf.cast(indices, tf.int64), sums, shape)


def _with_shape(outputs: Any, shape: tuple[int | None, ...]) -> Any:
    """Returns `outputs` with a static shape."""
    if isinstance(outputs, tf.SparseTensor):
        outputs.set_shape(shape)
        return outputs
    return tf.ensure_shape(outputs, shape)


class IndexEncoding(Preprocessing):
    """The base of layers that compute indices, and encode them as vectors unless `output_mode="int"`.

    Attributes:
        output_mode: `"int"`, or a mode of `encode`.
        sparse: whether vectors are sparse tensors.
    """

    output_mode: str
    sparse: bool

    def _take_mode(self, output_mode: str, sparse: bool, allowed: tuple[str, ...]) -> None:
        """Sets the arguments, and raises a `ValueError` if they are not possible, or not together."""
        check_mode(self, output_mode, allowed, "output_mode")
        if sparse and output_mode == "int":
            raise ValueError(
                "`sparse=True` may only be used if `output_mode` is one of "
                f"{tuple(mode for mode in allowed if mode != 'int')}. Received: sparse={sparse} and "
                f"output_mode={output_mode}"
            )
        self.output_mode = output_mode
        self.sparse = sparse

    def _depth(self) -> int | None:
        """Returns the size of a vector; `None` if it is not known yet."""
        raise NotImplementedError

    def _dtypes(self) -> tuple[str, str]:
        """Returns the dtype of indices and of vectors."""
        return self.compute_dtype, self.compute_dtype

    def _encoded(self, indices: Any, weights: Any = None) -> Any:
        """Returns the vectors for indices."""
        depth, dtype = self._depth() or 0, self._dtypes()[1]
        return encode(indices, self.output_mode, depth, dtype, self.sparse, weights)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the outputs for inputs of a shape."""
        if self.output_mode == "int":
            return tuple(input_shape)
        return encoded_shape(input_shape, self.output_mode, self._depth())

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns the outputs for symbolic inputs; only the size of vectors may need data."""
        self._complete()
        index_dtype, dtype = self._dtypes()
        if self.output_mode == "int":
            return KerasTensor(inputs.shape, index_dtype, inputs.sparse, inputs.ragged)
        return encoded_spec(inputs, self.output_mode, self._depth(), dtype, self.sparse)


def on_entries(inputs: Any, function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """Returns a function of each entry, in the form of the inputs."""
    if isinstance(inputs, tf.RaggedTensor):
        return inputs.with_flat_values(function(inputs.flat_values))
    if isinstance(inputs, tf.SparseTensor):
        outputs = inputs.with_values(function(inputs.values))
        outputs.set_shape(inputs.shape)
        return outputs
    return tf.ensure_shape(function(inputs), inputs.shape)
