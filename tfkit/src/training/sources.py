"""Recognizes the data that the user passes: arrays, datasets, generators, loaders."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import itertools
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.nests import brief, with_tuples
from tfkit.src.engine.arrays import as_tensor
from tfkit.src.training import random_states
from tfkit.src.training.absent import Absent, without_none
from tfkit.src.training.data import (
    ArrayData,
    DatasetData,
    check_class_weight,
    check_lengths,
    check_weights,
    make_arrays,
    pack_x_y_sample_weight,
    rows_a_step,
    with_class_weight,
)
from tfkit.src.training.process_data import is_own_part
from tfkit.src.training.py_dataset import PyDataset, PyDatasetPasses
from tfkit.src.training.step import free_batch
from tfkit.src.training.tensor_slices import as_slices


def make_data(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    shuffle: bool | str = False,
    class_weight: dict[int, float] | None = None,
    *,
    num_steps: int | None = None,
    steps_run: int = 0,
) -> ArrayData | DatasetData:
    """Converts data of any accepted type to one of the two forms.

    Args:
        x: arrays or tensors, a `tf.data.Dataset`, or an iterable of batches.
        y: targets, for arrays only.
        sample_weight: a weight for each row, for arrays only.
        batch_size: rows a step, for arrays only.
        shuffle: for arrays only.
        class_weight: a weight for each class of the targets, by index.
        num_steps: steps of a run, which without a `batch_size` divide the rows of arrays among them.
        steps_run: steps that the model has run: the order of ragged and sparse rows depends on it.
    """
    if x is None:
        raise ValueError("`x` is None. Expected arrays, a dataset or a generator of batches.")
    for name, value in (("x", x), ("y", y), ("sample_weight", sample_weight)):
        if value is None or isinstance(value, np.ndarray):
            continue
        if isinstance(value, (str, bytes, os.PathLike)) or inspect.isroutine(value):
            batches = ", a `tf.data.Dataset`, a `PyDataset` or a generator of batches"
            raise ValueError(
                f"Unrecognized data type: {name}={brief(value)} (of type {type(value).__name__}). Expected "
                f"arrays or tensors{batches if name == 'x' else ''}.{_advice(value)}"
            )
    if class_weight is not None:
        check_class_weight(class_weight)
    if is_batches(x):
        if batch_size is not None:
            warn(
                "Argument `batch_size` is for arrays and has no effect: a dataset or generator already gives "
                f"batches. Received: x={type(x).__name__}, batch_size={batch_size}"
            )
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"{_column(x)}Argument `{name}` is for arrays: a dataset or generator already gives "
                    f"batches of `(x, y, sample_weight)`. Received: x={type(x).__name__}, "
                    f"{name}={brief(value)}"
                )
        if isinstance(x, tf.data.Dataset):
            is_whole = class_weight is None and not is_own_part(x)
            # A dataset of slices of tensors in memory is trained like arrays, without a pipeline.
            slices = as_slices(x) if is_whole else None
            if slices is not None:
                return slices
            count = int(x.cardinality())
            data = DatasetData(x, count if count >= 0 else None)
        else:
            data = _from_iterable(
                PyDatasetPasses(x, bool(shuffle)) if isinstance(x, PyDataset) else x
            )
        if class_weight is not None:
            data.dataset = data.dataset.map(lambda *batch: with_class_weight(batch, class_weight))
        return data
    packed = _with_composites(x, y, sample_weight, class_weight)
    if packed is not None:
        seeds = random_states.words(steps_run) if shuffle else None
        packed = with_tuples(pack_x_y_sample_weight(*packed))
        return _rows_dataset(packed, batch_size, seeds, num_steps)
    arrays = make_arrays(
        x, y, sample_weight, batch_size, shuffle, class_weight, num_steps=num_steps
    )
    arrays.tensors = with_tuples(pack_x_y_sample_weight(*arrays.tensors))
    # A single batch counts as a full one.
    arrays.batch_size = min(arrays.batch_size, arrays.num_rows)
    return arrays


def one_batch(
    x: Any,
    y: Any,
    sample_weight: Any,
    class_weight: dict[int, float] | None = None,
    *,
    num_parts: int = 1,
) -> ArrayData | DatasetData:
    """Returns one batch as data for one step, which gets it as a tuple; arguments as `make_data`.

    The tuple has at least `num_parts` parts: those that are not given are `None`.
    """
    if class_weight is not None:
        check_class_weight(class_weight)
    sample_weight = _listed_as_arrays(sample_weight, y)
    packed = _with_composites(x, y, sample_weight, class_weight)
    if packed is not None:
        tensors = tf.nest.map_structure(as_tensor, packed)
        tensors += (Absent(),) * (num_parts - len(tensors))
        return DatasetData(tf.data.Dataset.from_tensors(tensors), 1)
    most_rows = 2**31 - 1
    data = make_arrays(x, y, sample_weight, most_rows, class_weight=class_weight)
    data.tensors += (Absent(),) * (num_parts - len(data.tensors))
    return data


def _listed_as_arrays(sample_weight: Any, y: Any) -> Any:
    """Returns weights with arrays in place of lists of numbers, one for each output if `y` has several.

    Lists of rows of different lengths stay lists, which are refused.
    """
    if not isinstance(sample_weight, (list, tuple, Mapping)):
        return sample_weight
    if nests.is_nested(y):
        if isinstance(sample_weight, Mapping):
            return {name: _listed_as_arrays(it, None) for name, it in sample_weight.items()}
        kind = tuple if isinstance(sample_weight, tuple) else list
        return kind(_listed_as_arrays(it, None) for it in sample_weight)
    weights = nests.leaves(sample_weight)
    if weights and all(isinstance(weight, numbers.Real) for weight in weights):
        with contextlib.suppress(ValueError):
            return np.asarray(sample_weight)
    return sample_weight


def _with_composites(x: Any, y: Any, sample_weight: Any, class_weight: Any) -> Any:
    """Returns the arguments as a tuple with class weights applied; `None` if all are plain arrays."""
    packed = tuple(without_none(part) for part in (x, y, sample_weight) if part is not None)
    if not any(_is_composite(leaf) for part in packed for leaf in nests.leaves(part)):
        return None
    check_weights(y, sample_weight, class_weight)
    if class_weight is not None:
        packed = tuple(with_class_weight(packed, class_weight))
    check_lengths(packed)
    return packed


def is_batches(x: Any) -> bool:
    """Whether iterating over `x` yields batches, as for datasets, generators and loaders."""
    if hasattr(x, "__array__") or nests.is_nested(x) or _is_composite(x):
        return False
    return isinstance(x, (Iterable, PyDataset)) or (
        hasattr(x, "__getitem__") and hasattr(x, "__len__")
    )


def _advice(x: Any) -> str:
    if inspect.isgeneratorfunction(x):
        return f" Call the generator function: `{x.__name__}()`."
    if isinstance(x, str):
        return " A single text is an array of one row: `tf.constant([text])`."
    return ""


def is_arrays(x: Any) -> bool:
    """Whether `x` is an array, a tensor or a nest of these."""
    leaves = tf.nest.flatten(x)
    plain = isinstance(x, (list, tuple))  # They may be numbers.
    return bool(leaves) and (
        plain or all(hasattr(leaf, "shape") or _is_composite(leaf) for leaf in leaves)
    )


class _Source:
    """Batches from Python: an iterable, or an object with `__getitem__` and `__len__`.

    Each pass has a new iterator; an iterable that can be read only once is continued.

    Args:
        batches: the user's data.

    Attributes:
        error: the error of the user's code, if there was one.
        is_one_shot: whether it can be passed over only once.
        drawn_from: the random states that the latest pass began with.
    """

    error: BaseException | None = None

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        # TensorFlow reads batches in its own threads: they use the settings of the training thread.
        self._context = contextvars.copy_context()
        # An iterator, unlike an iterable, can be read only once.
        self.is_one_shot = hasattr(batches, "__next__")
        self.is_distributed = isinstance(batches, tf.distribute.DistributedDataset)
        self._head: list[Any] = []
        self._fresh = not isinstance(batches, PyDatasetPasses)
        if self._fresh:
            self._current = self._new_pass()
            # Two batches show which sizes vary. They are not lost: the first pass begins with
            # them.
            self._head = list(itertools.islice(self._current, 2))
        self._examples = self._head
        if not self._fresh:
            self._examples = list(map(_as_batch, self._as_tuples(batches.examples())))
        if not self._examples:
            raise ValueError("The generator or data loader that was passed yielded no batches.")

    def _new_pass(self) -> Iterator[Any]:
        # One context for each pass: two threads cannot be in the same one at once.
        context = self._context.copy()
        return _inside(context, context.run(self._begin_pass))

    def _begin_pass(self) -> Iterator[Any]:
        self.drawn_from = random_states.get()
        if hasattr(self._batches, "__iter__"):
            given = iter(self._batches)
        else:
            given = (self._batches[index] for index in range(len(self._batches)))
        if isinstance(self._batches, PyDatasetPasses):
            given = self._as_tuples(given)
        return map(_as_batch, given)

    @staticmethod
    def _as_tuples(batches: Iterable[Any]) -> Iterator[Any]:
        """Yields batches of a `PyDataset`; a lone array is `(x,)`. In Keras it is for all data."""
        return ((batch,) if hasattr(batch, "shape") else batch for batch in batches)

    def begin(self) -> None:
        """Begins an epoch."""
        if isinstance(self._batches, PyDatasetPasses):
            self._batches.dataset.on_epoch_begin()

    def end(self) -> None:
        """Ends an epoch: its batches have been used, not only prefetched."""
        if isinstance(self._batches, PyDatasetPasses):
            self._batches.dataset.on_epoch_end()

    def restart(self) -> None:
        """Discards the pass that has begun."""
        self._fresh, self._head = False, []

    def element_spec(self) -> Any:
        """Returns the specs of the batches; sizes in which the first two batches differ are free."""
        examples, self._examples = self._examples, []
        for batch in examples[1:]:
            _check_structure(examples[0], batch)
        self._spec = tf.nest.map_structure(lambda *leaves: _batch_spec(leaves), *examples)
        return self._spec

    def __call__(self) -> Iterator[Any]:
        """Yields the batches of one pass."""
        if self._fresh or self.is_one_shot:
            self._fresh = False
        else:
            self._current = self._new_pass()
        while self._head:
            yield self._head.pop(0)
        try:
            for batch in self._current:
                _check_fits(batch, self._spec)
                yield batch
        except (Exception, KeyboardInterrupt) as error:
            # TensorFlow reports an error of a generator as text; this is the error itself.
            self.error = error
            raise


def _inside(context: contextvars.Context, items: Iterator[Any]) -> Iterator[Any]:
    """Yields items made in the given context, whichever thread reads them."""
    end = object()
    while (item := context.run(next, items, end)) is not end:
        yield item


def _from_iterable(batches: Any) -> DatasetData:
    source = _Source(batches)
    spec = source.element_spec()
    if not tf.nest.flatten(spec):
        raise ValueError(
            "The batches hold nothing. Expected `(x, y)`, arrays with a row for each sample. Received: None; "
            "does the generator `yield` what it makes?"
        )
    dataset = tf.data.Dataset.from_generator(source, output_signature=spec)
    return DatasetData(dataset, _length(batches), source)


def _length(batches: Any) -> int | None:
    """Returns the number of batches, or `None` if it is not known."""
    if isinstance(batches, PyDatasetPasses):
        return batches.dataset.num_batches
    try:
        return len(batches)
    except TypeError:  # Loaders of streams define `__len__`, which raises an error.
        return None


def _as_batch(batch: Any) -> Any:
    batch = tf.nest.map_structure(_joined, with_tuples(_checked(batch)))
    return tf.nest.map_structure(as_tensor, without_none(batch))


def _checked(batch: Any) -> Any:
    """Returns a batch whose lists hold arrays, not numbers."""
    if isinstance(batch, list) and batch and isinstance(batch[0], (bool, int, float, str)):
        raise ValueError(
            "A batch consists of arrays or tensors, whose first axis is the samples. Received a "
            f"list of numbers or strings: {brief(batch)}. Make an array of it: `np.array(...)`"
        )
    return nests.mapped(_checked, batch) if nests.is_nested(batch) else batch


def _joined(leaf: Any) -> Any:
    """Returns the parts of a batch that `tf.distribute` has made for replicas, as the whole batch."""
    if not isinstance(leaf, tf.distribute.DistributedValues):
        return leaf
    parts = [as_tensor(part) for part in leaf.values]
    return (
        tf.sparse.concat(0, parts) if isinstance(parts[0], tf.SparseTensor) else tf.concat(parts, 0)
    )


def _check_structure(first: Any, batch: Any) -> None:
    try:
        tf.nest.assert_same_structure(first, batch)
    except (TypeError, ValueError):
        raise ValueError(
            "All batches must have the same structure. Received first: "
            f"{tf.nest.map_structure(_batch_spec_of, first)}, then: "
            f"{tf.nest.map_structure(_batch_spec_of, batch)}"
        ) from None


def _check_fits(batch: Any, spec: Any) -> None:
    """Raises an error for a batch that differs in form from the first ones, for which programs are made."""
    try:
        tf.nest.assert_same_structure(spec, batch)
        fits = all(
            not isinstance(each, tf.TensorSpec) or each.shape.is_compatible_with(leaf.shape)
            for each, leaf in zip(tf.nest.flatten(spec), tf.nest.flatten(batch), strict=True)
        )
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            "All batches must have the same structure, and, apart from the batch size, the same sizes "
            "where those of the first two agree. "
            f"Received first: {spec}, then: {tf.nest.map_structure(_batch_spec_of, batch)}",
        )


def _batch_spec_of(leaf: Any) -> Any:
    return _batch_spec((leaf,))


def _batch_spec(leaves: tuple[Any, ...]) -> tf.TypeSpec:
    """Returns a spec that fits the same leaf of several batches."""
    first, *others = (free_batch(leaf) for leaf in leaves)
    return first.most_specific_common_supertype(others) or first


# --- Ragged and sparse tensors ------------------------------------------------------------------------


def _is_composite(leaf: Any) -> bool:
    return isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)) or hasattr(leaf, "tocoo")


def _rows_dataset(
    data: Any, batch_size: int | None, seeds: list[int] | None, num_steps: int | None
) -> DatasetData:
    """Returns arrays that include ragged or sparse ones as a dataset, since programs cannot slice these."""
    tensors = tf.nest.map_structure(as_tensor, data)
    num_rows = int(tf.nest.flatten(tensors)[0].shape[0])
    size = rows_a_step(num_rows, batch_size, num_steps)
    rows = tf.data.Dataset.range(num_rows)
    if seeds is not None:
        seed = int(np.random.RandomState(seeds).randint(2**31))
        rows = rows.shuffle(num_rows, seed=seed)
    batches = rows.batch(size).map(
        lambda picked: tf.nest.map_structure(lambda leaf: _gather(leaf, picked), tensors)
    )
    return DatasetData(batches.prefetch(tf.data.AUTOTUNE), -(-num_rows // size))


def _gather(tensor: Any, rows: tf.Tensor) -> Any:
    if not isinstance(tensor, tf.SparseTensor):
        return tf.gather(tensor, rows)
    # The numbers of the entries as a ragged tensor: the rows of that can be gathered.
    row_ids = tensor.indices[:, 0]
    entries = tf.RaggedTensor.from_value_rowids(
        tf.range(tf.size(row_ids)), row_ids, nrows=tensor.dense_shape[0]
    )
    picked = tf.gather(entries, rows)
    inner = tf.gather(tensor.indices[:, 1:], picked.flat_values)
    shape = tf.concat([tf.shape(rows, "int64"), tensor.dense_shape[1:]], axis=0)
    indices = tf.concat([picked.value_rowids()[:, None], inner], axis=1)
    return tf.SparseTensor(indices, tf.gather(tensor.values, picked.flat_values), shape)


def _column(x: Any) -> str:
    """Returns advice for a sequence of rows, such as a column of a table of `datasets`."""
    if not hasattr(x, "__getitem__") or not hasattr(x, "__len__") or isinstance(x, PyDataset):
        return ""
    return (
        f"A {type(x).__name__} gives batches, by its items. If they are rows, pass `np.array(x)`. "
    )
