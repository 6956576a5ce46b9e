"""The data of `fit` in one of two forms: arrays in memory, or a `tf.data.Dataset` of batches."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.nests import brief, leaves, with_leaves
from tfkit.src.engine.arrays import as_tensor
from tfkit.src.losses.tensors import weights_along
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training import random_states
from tfkit.src.training.absent import without_none

_SHOWN = 10  # arrays in messages


@shortened
def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Returns inputs, targets and sample weights of a batch as it is passed to a step.

    Args:
        data: inputs alone, or a tuple or list of one to three: `(x,)`, `(x, y)` or
            `(x, y, sample_weight)`.

    Returns:
        A tuple `(x, y, sample_weight)`, with `None` for missing parts.

    Raises:
        ValueError: for a tuple of any other length.

    Example:
        >>> unpack_x_y_sample_weight((1, 2))
        (1, 2, None)
    """
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(
            "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`. "
            f"Received: {brief(data)}"
        )
    return (*data, None, None)[:3]


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Returns a batch of inputs, targets and sample weights in the form that a step accepts.

    It is the inverse of `unpack_x_y_sample_weight`.

    Args:
        x: inputs, a tensor or a nest of tensors.
        y: targets, or `None`.
        sample_weight: weights of the samples, or `None`.

    Returns:
        A tuple without `None` at its end; a single `x` that is not a list or tuple
        is returned itself.

    Example:
        >>> pack_x_y_sample_weight(1, 2), pack_x_y_sample_weight(1)
        ((1, 2), 1)
    """
    if y is None:
        # A tuple alone would be read as `(x, y)`.
        return (x,) if isinstance(x, (list, tuple)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def batch_size_of(data: Any) -> tf.Tensor:
    """Returns the number of rows of the first tensor in a nest."""
    first = next(leaf for leaf in tf.nest.flatten(data) if leaf is not None)
    if isinstance(first, tf.RaggedTensor):
        return first.nrows()
    shape = first.dense_shape if isinstance(first, tf.SparseTensor) else tf.shape(first)
    return shape[0] if first.shape.rank != 0 else tf.constant(1)


class ArrayData:
    """Arrays of equal length that are in memory; programs slice rows out of them.

    Args:
        data: `(x,)`, `(x, y)` or `(x, y, sample_weight)`, nests of arrays.
        batch_size: rows of a step; `None` if `rows_a_step` chooses.
        shuffle: whether each epoch reads the rows in a new order; `"batch"` shuffles whole batches.
        num_steps: number of steps for all rows, if there is no `batch_size`.

    Attributes:
        known_size: rows of every batch, if a trace may rely on it; `None` if it may not.
    """

    known_size: int | None = None
    is_endless = False

    def __init__(
        self, data: Any, batch_size: int | None, shuffle: bool | str, num_steps: int | None = None
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"`batch_size` must be a positive integer. Received: {batch_size}")
        self.shuffle = shuffle
        # For `fit(x, x)` of an autoencoder, one tensor is kept.
        once = {id(leaf): as_tensor(leaf) for leaf in leaves(data)}
        self.tensors = with_leaves(lambda leaf: once[id(leaf)], data)
        self.num_rows = int(next(iter(once.values())).shape[0])
        self.batch_size = rows_a_step(self.num_rows, batch_size, num_steps)

    @property
    def structure(self) -> Any:
        """The form of a batch, shown by tensors that may have more rows."""
        return self.tensors

    @functools.cached_property
    def distinct(self) -> tuple[list[tf.Tensor], tuple[int, ...]]:
        """The tensors without repetitions, and the index in them of each tensor of a batch.

        For `fit(x, x)` of an autoencoder rows are read once, which saves a tenth of a step in XLA.
        """
        tensors = tf.nest.flatten(self.tensors)
        known: dict[int, int] = {}
        indices = tuple(known.setdefault(id(tensor), len(known)) for tensor in tensors)
        return [tensors[indices.index(index)] for index in range(len(known))], indices

    @property
    def num_batches(self) -> int:
        """The number of batches, including a smaller one at the end."""
        return -(-self.num_rows // self.batch_size)

    def order(self, seeds: list[int]) -> tf.Tensor | None:
        """Returns the order of the rows that follows from seeds; `None` if they are not shuffled."""
        if not self.shuffle:
            return None
        generator = np.random.RandomState(seeds)
        if self.shuffle == "batch":
            starts = generator.permutation(self.num_rows // self.batch_size) * self.batch_size
            rows = (starts[:, None] + np.arange(self.batch_size)).reshape(-1)
            # The rows of a smaller last batch stay at the end.
            return tf.constant(np.concatenate([rows, np.arange(len(rows), self.num_rows)]))
        return tf.constant(generator.permutation(self.num_rows))

    def batches(self) -> Iterator[Any]:
        """Yields the batches of a new pass."""
        return map(Pass(self, self.order(random_states.words(0))).batch, range(self.num_batches))


def rows_a_step(num_rows: int, batch_size: int | None, num_steps: int | None) -> int:
    """Returns the batch size for rows in memory: as given, or else the share of each step, or else 32."""
    if batch_size is not None:
        return int(batch_size)
    return int(-(-num_rows // num_steps)) if num_steps is not None and num_steps > 0 else 32


class Pass(NamedTuple):
    """Arrays, and the order of their rows in one pass over them; `None` for the original order."""

    data: ArrayData
    order: tf.Tensor | None = None

    def batch(self, index: int) -> Any:
        """Returns one batch."""
        data, order = self
        start = index * data.batch_size
        stop = min(start + data.batch_size, data.num_rows)
        return tf.nest.map_structure(lambda t: take_rows(t, order, start, stop), data.tensors)


def take_rows(tensor: tf.Tensor, order: tf.Tensor | None, start: Any, stop: Any) -> tf.Tensor:
    """Returns rows `start` to `stop` of a tensor, or the rows at these positions of `order`."""
    if order is not None:
        return tf.gather(tensor, order[start:stop])
    if not isinstance(start, int):
        return tensor[start:stop]
    # Outside a trace, an index is converted to tensors three times, which takes longer than the rows.
    rest = tensor.shape.rank - 1
    begin, size = (
        np.array([it] + [value] * rest) for it, value in ((start, 0), (stop - start, -1))
    )
    return tf.raw_ops.Slice(input=tensor, begin=begin, size=size)


class DatasetData:
    """A `tf.data.Dataset` of batches.

    Args:
        dataset: the batches.
        num_batches: how many there are, `None` if that is not known.
        source: the Python source of the batches, if any; its `error` is the error of the user's code.

    Attributes:
        is_one_shot: whether the data can be iterated over only once.
        is_distributed: whether `tf.distribute` divides the batches among the processes.
    """

    def __init__(
        self, dataset: tf.data.Dataset, num_batches: int | None, source: Any = None
    ) -> None:
        self.dataset = dataset
        self.num_batches = num_batches
        self._source = source
        self.is_one_shot = getattr(source, "is_one_shot", False)
        self.is_distributed = getattr(source, "is_distributed", False)

    @property
    def structure(self) -> Any:
        """The form of a batch, with a spec in place of each tensor."""
        return self.dataset.element_spec

    @property
    def is_endless(self) -> bool:
        """Whether the dataset is known to repeat without end."""
        cardinality = getattr(self.dataset, "cardinality", None)
        return cardinality is not None and int(cardinality()) == tf.data.INFINITE_CARDINALITY

    @functools.cached_property
    def known_size(self) -> int | None:
        """The number of rows of every batch, if it is static, as after `batch(4, drop_remainder=True)`."""
        sizes = set()
        for spec in tf.nest.flatten(self.dataset.element_spec):
            sized = isinstance(spec, tf.TensorSpec) and bool(spec.shape.rank)
            sizes.add(spec.shape[0] if sized else None)
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def drawn_from(self) -> Any:
        """The random states at the beginning of the latest pass over batches from Python, else `None`."""
        return getattr(self._source, "drawn_from", None)

    def restart(self, drawn_from: Any) -> None:
        """Makes the next pass over batches from Python a new one, from the given random states, if any."""
        if self._source is not None:
            self._source.restart()
            if drawn_from is not None:
                random_states.set(drawn_from)

    def begin(self) -> None:
        """Notifies the source of batches from Python that an epoch begins."""
        if self._source is not None:
            self._source.begin()

    def end(self) -> None:
        """Notifies the source of batches from Python that an epoch has ended."""
        if self._source is not None:
            self._source.end()

    @contextlib.contextmanager
    def errors_of_user(self) -> Iterator[None]:
        """Context manager that raises an error of the user's generator without TensorFlow's wrapper."""
        raised = None
        try:
            yield
        except tf.errors.OpError:
            raised = getattr(self._source, "error", None)
            if raised is None:
                raise
        if raised is not None:
            raise raised  # Outside the handler, so that the error keeps the user's cause.

    def batches(self) -> Iterator[Any]:
        """Yields the batches."""
        self.begin()
        try:
            with self.errors_of_user():
                yield from self.dataset
        finally:  # Also if the caller does not read all of them.
            self.end()


def make_arrays(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    shuffle: bool | str = False,
    class_weight: dict[int, float] | None = None,
    *,
    num_steps: int | None = None,
) -> ArrayData:
    """Returns the data for arrays and tensors, like `make_data`.

    Raises:
        ValueError: if lengths differ, and for empty data.
    """
    check_weights(y, sample_weight, class_weight)
    packed = tuple(without_none(part) for part in (x, y, sample_weight) if part is not None)
    if class_weight is not None:
        packed = tuple(with_class_weight(packed, class_weight))
    check_lengths(packed)
    return ArrayData(packed, batch_size, shuffle, num_steps)


def check_weights(y: Any, sample_weight: Any, class_weight: dict[int, float] | None) -> None:
    """Raises an error for weights without targets.

    Raises:
        ValueError: with the name of the weights.
    """
    if y is not None:
        return
    if sample_weight is not None:
        raise ValueError("`sample_weight` was passed without `y`: it weighs the loss of targets.")
    if class_weight is not None:
        raise ValueError("`class_weight` was passed without `y`: it weighs classes of targets.")


def check_lengths(data: Any) -> None:
    """Raises an error if arrays have different numbers of rows.

    Raises:
        ValueError: with the numbers of rows of `x`, `y` and `sample_weight`; also for Python numbers.
    """
    names = ("x", "y", "sample_weight")
    for name, part in zip(names, data, strict=False):
        for leaf in leaves(part):
            if isinstance(leaf, KerasTensor):
                raise ValueError(
                    f"Expected `{name}` to be data. Received: a symbolic tensor, which has no values: {leaf}."
                    " Pass an array or a dataset; `Input` describes data when a model is made."
                )
            if hasattr(leaf, "shape"):
                continue
            if not hasattr(leaf, "__len__") or isinstance(leaf, (str, bytes, set, frozenset)):
                where = "" if leaf is part else f" in a {type(part).__name__}"
                made = "sorted(" if isinstance(leaf, (set, frozenset)) else ""
                raise ValueError(
                    f"Expected `{name}` to be an array or a tensor, or a nest of these. Received: a Python "
                    f"{type(leaf).__name__}{where}. Make an array of it, with a row for each sample: "
                    f"`np.array({made}{name}{')' if made else ''})`."
                )
    lengths = [
        (
            name,
            len(leaf)
            if not hasattr(leaf, "shape")
            else (leaf.shape[0] if len(leaf.shape) else None),
        )
        for name, part in zip(names, data, strict=False)
        for leaf in leaves(part)
    ]
    if len({length for _, length in lengths}) > 1 or any(length is None for _, length in lengths):
        listed = ", ".join(f"{name}: {length}" for name, length in lengths[:_SHOWN])
        more = f" and {len(lengths) - _SHOWN} more" if len(lengths) > _SHOWN else ""
        for name, part in zip(names, data, strict=False):
            if isinstance(part, (list, tuple)) and len(part) > _SHOWN:
                more += (
                    f". `{name}` is a list of {len(part)} arrays, which are the inputs of a model with so "
                    f"many inputs. If they are rows, make one array of them: `np.array({name})`"
                )
        raise ValueError(
            "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples. "
            f"Received numbers of samples: {listed}{more}"
        )
    if not lengths or lengths[0][1] == 0:
        raise ValueError("The data has no samples. Expected arrays with at least one row.")


def check_class_weight(class_weight: Any) -> None:
    """Raises an error unless `class_weight` is a dict from class indices to numbers.

    Raises:
        ValueError: that shows an entry that is wrong.
    """
    expected = "Expected a dict from class indices (0, 1, ...) to numbers, as {0: 1.0, 1: 5.0}."
    if not isinstance(class_weight, dict):
        raise ValueError(f"Unknown `class_weight`. {expected} Received: {class_weight!r}")
    for index, weight in class_weight.items():
        # `np.unique` of float labels gives floats.
        is_index = isinstance(index, (int, float, np.number)) and index >= 0 and index == int(index)
        if not is_index or not isinstance(weight, (int, float, np.number)):
            raise ValueError(
                f"Unknown entry in `class_weight`. {expected} Received: {index!r}: {weight!r}"
            )


def with_class_weight(batch: Any, class_weight: dict[int, float]) -> Any:
    """Returns the data with the weights of the targets' classes as sample weights."""
    x, y, sample_weight = unpack_x_y_sample_weight(batch)
    if tf.nest.is_nested(y):
        raise ValueError("`class_weight` is only supported for Models with a single output.")
    y = tf.convert_to_tensor(y)
    if y.dtype == tf.string:
        raise ValueError(
            "`class_weight` weighs targets by the index of their class. Received: targets of dtype string. "
            "Turn labels into indices first, as `layers.StringLookup` does."
        )
    if y.dtype.is_bool:
        y = tf.cast(y, "int32")
    rank = y.shape.rank
    if rank is not None and rank >= 2 and y.shape[-1] != 1:
        classes = tf.argmax(y, axis=-1)
    else:
        column = rank is not None and rank >= 2
        classes = tf.cast(tf.round(tf.squeeze(y, -1) if column else y), "int64")
    last = int(max(class_weight, default=0))
    table = tf.constant([float(class_weight.get(index, 1.0)) for index in range(last + 1)])
    # A class without an entry has the weight 1.
    known = (classes >= 0) & (classes <= last)
    weights = tf.where(known, tf.gather(table, tf.where(known, classes, 0)), 1.0)
    if sample_weight is not None:
        given = tf.cast(sample_weight, weights.dtype)
        # Both have the first axes of the losses: samples, or samples and steps.
        if (given.shape.rank or 0) > (weights.shape.rank or 0):
            weights = weights_along(weights, given, "class_weight")
        weights = weights * weights_along(given, weights)
    return x, y, weights


def split_validation(
    data: tuple[Any, ...], fraction: float
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the first rows for training and the last ones, a `fraction` of all, for validation."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"`validation_split` must be between 0 and 1. Received: {fraction}")
    data = tuple(part if part is None else without_none(part) for part in data)
    leaves = [leaf for leaf in tf.nest.flatten(data) if leaf is not None]
    if not all(hasattr(leaf, "shape") and hasattr(leaf, "__getitem__") for leaf in leaves):
        raise ValueError(
            "Argument `validation_split` is only supported for tensors or NumPy arrays. "
            f"Received: {[type(leaf).__name__ for leaf in leaves]}"
        )
    check_lengths([part for part in data if part is not None])
    rows = int(leaves[0].shape[0])
    # Keras's rounding, so that the same rows are kept.
    kept = int(np.floor(rows * (1.0 - fraction)))
    if not 0 < kept < rows:
        raise ValueError(
            f"`validation_split={fraction}` of {rows} samples leaves none to train on or to validate with."
        )

    def cut(start: int, stop: int) -> tuple[Any, ...]:
        return tuple(
            part if part is None else tf.nest.map_structure(lambda leaf: leaf[start:stop], part)
            for part in data
        )

    return cut(0, kept), cut(kept, rows)
