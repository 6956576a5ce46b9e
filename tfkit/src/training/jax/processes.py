"""Several processes that train a model together on JAX: the same steps of the same rows in each."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import tensorflow as tf
from jax.experimental import multihost_utils

from tfkit.src.files.saving.atomic import discarded
from tfkit.src.training import process_data
from tfkit.src.training.data import ArrayData, DatasetData

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class Processes:
    """The processes of a training run, with the interface of `Devices`.

    Attributes:
        is_chief: whether this process writes files.
        num_processes: number of processes that take part.
    """

    def __init__(self) -> None:
        self.is_chief = jax.process_index() == 0
        self.num_processes = jax.process_count()

    def agreed(self, values: Any) -> Any:
        """Returns the chief's values, with which all processes continue."""
        return tf.constant(_of_all(np.asarray(values))[0])

    def shared(self, number: int, *flags: bool) -> tuple[Any, ...]:
        """Returns the chief's number, and for each flag whether any process has set it.

        Each process calls it at the same point.
        """
        of_all = _of_all(np.array([number, *flags], "int64"))
        return int(of_all[0, 0]), *(bool(column.any()) for column in of_all[:, 1:].T)

    def check_data(self, data: ArrayData | DatasetData) -> None:
        """Refuses data that differ between processes.

        Raises:
            ValueError: for data that differ, and for a dataset of which each process has its own part.
        """
        if isinstance(data, DatasetData) and process_data.is_own_part(data.dataset):
            raise ValueError(
                "The auto-shard policy of the dataset is OFF. On JAX each process reads all of a dataset, "
                "and its devices get their rows of each batch: leave the policy out."
            )
        process_data.prepare(data, lambda number: _of_all(np.array(number, "int64")).tolist())

    def files(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context of a training run, in which only the chief's files are written."""
        return contextlib.nullcontext() if self.is_chief else discarded()


def processes_of(model: Trainer) -> Processes | None:
    """Returns the processes that train a model; `None` if this one does so alone."""
    distribution = model._tfkit_settings.distribution
    is_jax = distribution is not None and distribution.strategy is None
    return Processes() if is_jax and jax.process_count() > 1 else None


def check_equal(variables: Mapping[str, tf.Variable]) -> None:
    """Raises an error if the processes have different values; each calls it at the same point.

    Raises:
        ValueError: that names the variables.
    """
    paths = sorted(variables)
    sums = [zlib.crc32(variables[path].numpy().tobytes()) for path in paths]
    differs = np.ptp(_of_all(np.array(sums, "int64")), axis=0) > 0
    if differs.any():
        names = [path for path, it in zip(paths, differs, strict=True) if it]
        raise ValueError(
            f"The processes have different values of: {', '.join(names[:20])}. Call "
            "`tfkit.utils.set_random_seed()` with the same number in all of them before the model is made, "
            "or load the same weights."
        )


def _of_all(values: np.ndarray) -> np.ndarray:
    """Returns the values of all processes along a first axis."""
    # As bytes: JAX has no 64 bits unless asked.
    mine = np.frombuffer(np.ascontiguousarray(values).tobytes(), "uint8")
    found = np.asarray(multihost_utils.process_allgather(mine))
    rows = [it.tobytes() for it in found.reshape(jax.process_count(), -1)]
    return np.stack([np.frombuffer(row, values.dtype).reshape(values.shape) for row in rows])
