"""`PyDataset`: batches by index, made by the user's Python code, in threads or processes if requested."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import itertools
import multiprocessing
import warnings
from collections.abc import Iterator
from typing import Any

from tfkit.src.base.generators import generators_in_force

_dataset_of_worker: Any = None


class PyDataset:
    """A data set that returns batches by index; subclass it.

    A subclass defines `__getitem__(index)`, which returns a batch `(x, y)` or
    `(x, y, sample_weight)`, and `__len__`, the number of batches. Batches are made in advance
    while the model trains.

    Args:
        workers: number of threads or processes that make batches. Default: `1`.
        use_multiprocessing: whether these are processes, for code that holds Python's lock. The
            data set is copied into each; none of them should use TensorFlow. Default: `False`.
        max_queue_size: maximum number of batches that are made in advance. Default: `10`.

    Example:
        >>> class Squares(PyDataset):
        ...     def __len__(self):
        ...         return 3
        ...
        ...     def __getitem__(self, index):
        ...         return np.full((2, 1), index), np.full((2, 1), index**2)
        >>> Squares(workers=2).num_batches
        3
    """

    # A subclass may forget `super().__init__()`.
    workers = 1
    use_multiprocessing = False
    max_queue_size = 10

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ) -> None:
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index: int) -> Any:
        """Returns the batch at `index`."""
        raise NotImplementedError(
            f"{type(self).__name__} defines no `__getitem__(self, index)`, which gives a batch."
        )

    @property
    def num_batches(self) -> int | None:
        """The number of batches; an override may return `None` for endless data."""
        if hasattr(self, "__len__"):
            return len(self)
        raise NotImplementedError(
            f"{type(self).__name__} defines neither `__len__(self)` nor the property `num_batches`."
        )

    def __iter__(self) -> Iterator[Any]:
        """Yields the batches in order, in this thread; endlessly if their number is not known."""
        count: int | None = None
        with contextlib.suppress(NotImplementedError):
            count = self.num_batches
        for index in itertools.count() if count is None else range(count):
            yield self[index]

    def on_epoch_begin(self) -> None:
        """Does nothing; called before each pass."""

    def on_epoch_end(self) -> None:
        """Does nothing; called after each pass."""


class PyDatasetPasses:
    """The passes over a `PyDataset`: each iteration over this object is one.

    Args:
        dataset: the data set.
        shuffle: whether each pass has a new order of batches.
    """

    def __init__(self, dataset: PyDataset, shuffle: bool) -> None:
        self.dataset = dataset
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[Any]:
        dataset = self.dataset
        with _executor(dataset) as (submit, num_ahead):
            pending: collections.deque[Any] = collections.deque()
            for index in self._indices():
                pending.append(submit(index))
                if len(pending) >= num_ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()

    def examples(self) -> list[Any]:
        """Returns the first batches, which determine the form of all: outside a pass, as in Keras."""
        count = self.dataset.num_batches
        return [self.dataset[index] for index in range(2 if count is None else min(2, count))]

    def _indices(self) -> Iterator[int]:
        count = self.dataset.num_batches
        if count is None:
            yield from itertools.count()
        else:
            indices = list(range(count))
            if self.shuffle:
                generators_in_force().python.shuffle(indices)
            yield from indices


@contextlib.contextmanager
def _executor(dataset: PyDataset) -> Iterator[tuple[Any, int]]:
    """Context manager; yields a function that requests a batch, and how many to request ahead."""
    workers = max(1, dataset.workers)
    num_ahead = max(1, dataset.max_queue_size)
    if not dataset.use_multiprocessing:
        with concurrent.futures.ThreadPoolExecutor(workers) as threads:
            yield lambda index: threads.submit(dataset.__getitem__, index), num_ahead
            threads.shutdown(wait=False, cancel_futures=True)
        return
    # Forked processes need neither a guard in the user's script nor a pickled data set, as in Keras.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    # Permanently: `catch_warnings` would restore, for all threads, the earlier filters.
    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning, r"multiprocessing\.popen_fork")
    # JAX's warning: these processes call neither TensorFlow nor JAX.
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    with concurrent.futures.ProcessPoolExecutor(
        workers, multiprocessing.get_context(method), _set_dataset, (dataset,)
    ) as processes:
        yield lambda index: processes.submit(_batch_of_worker, index), num_ahead
        processes.shutdown(wait=False, cancel_futures=True)


def _set_dataset(dataset: PyDataset) -> None:
    global _dataset_of_worker
    _dataset_of_worker = dataset


def _batch_of_worker(index: int) -> Any:
    return _dataset_of_worker[index]
