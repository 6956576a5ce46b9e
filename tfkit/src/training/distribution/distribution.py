"""The common base of `DataParallel` and `ModelParallel`, and the distribution in use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.training.distribution.devices import place
from tfkit.src.training.distribution.layouts import DeviceMesh, TensorLayout
from tfkit.src.training.placement import distributions


class Distribution:
    """The common base of distributions.

    Args:
        device_mesh: the devices.
        batch_dim_name: the mesh's axis along which batches are divided.
        auto_shard_dataset: must be `True` with several processes.
        shard_optimizer_state: whether JAX divides the slots of optimizers along that axis as well.
        strategy: the strategy of `tf.distribute` for TensorFlow; `None` for JAX.

    Attributes:
        strategy: the strategy of `tf.distribute`; `None` if JAX has the devices.
        shard_optimizer_state: whether slots of optimizers are divided along the axis of batches.

    Raises:
        ValueError: if a dataset is not to be divided among processes.
    """

    def __init__(
        self,
        device_mesh: DeviceMesh,
        batch_dim_name: str,
        auto_shard_dataset: bool,
        shard_optimizer_state: bool,
        strategy: Any = None,
    ) -> None:
        self._device_mesh = device_mesh
        self._batch_dim_name = batch_dim_name
        self._auto_shard_dataset = auto_shard_dataset
        self.shard_optimizer_state = shard_optimizer_state
        self.strategy = strategy
        if self.num_processes > 1 and not auto_shard_dataset:
            raise ValueError(
                "`auto_shard_dataset` must be True: each process reads all of a dataset, and takes its rows "
                "of every batch. Pass the same dataset in all processes. Received: auto_shard_dataset=False"
            )

    @property
    def device_mesh(self) -> DeviceMesh:
        """The devices."""
        return self._device_mesh

    @property
    def batch_dim_name(self) -> str:
        """The name of the mesh's axis along which batches are divided."""
        return self._batch_dim_name

    @property
    def auto_shard_dataset(self) -> bool:
        """Whether `fit` divides a dataset among processes."""
        return self._auto_shard_dataset

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        return place(self.strategy)[1]

    @property
    def num_model_replicas(self) -> int:
        """The number of parts that a batch is divided into."""
        mesh = self._device_mesh
        return int(mesh.shape[list(mesh.axis_names).index(self._batch_dim_name)])

    @property
    def data_shard_id(self) -> int:
        """The number of this process among those that read different rows."""
        index, number = place(self.strategy)
        return index // max(1, number // self.num_model_replicas)

    def get_data_layout(self, data_shape: Sequence[int | None]) -> TensorLayout:
        """Returns the layout of a batch: divided along its first axis. A scalar is not divided."""
        axes = [self.batch_dim_name, *([None] * (len(data_shape) - 1))]
        # A scalar has no axis left.
        return TensorLayout(axes[: len(data_shape)], self._device_mesh)

    def get_variable_layout(self, variable: Any) -> TensorLayout:
        """Returns the layout of a variable: it is not divided."""
        return TensorLayout([None] * len(variable.shape), self._device_mesh)

    def get_tensor_layout(self, path: str) -> TensorLayout | None:
        """Returns the layout of what a layer returns, by the layer's path and `/output`; `None` for any."""
        return None

    def scope(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which models are made for this distribution."""
        return _scope(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} device_mesh={self._device_mesh}>"


def distribution() -> Distribution | None:
    """Returns the distribution in use; `None` if there is none.

    Example:
        >>> distribution()
    """
    found: Distribution | None = distributions.get()
    return found


def set_distribution(value: Distribution | None) -> None:
    """Uses a distribution for all models that this thread makes or compiles from now on.

    Args:
        value: the distribution; `None` for none.

    Raises:
        TypeError: for anything else.
        RuntimeError: inside the scope of a strategy of `tf.distribute`.
    """
    if value is not None and not isinstance(value, Distribution):
        raise TypeError(
            "`set_distribution()` accepts a `DataParallel`, a `ModelParallel` or None. "
            f"Received: {value!r} (of type {type(value).__name__})"
        )
    tf.distribute.experimental_set_strategy(value and value.strategy)
    distributions.set(value)


@contextlib.contextmanager
def _scope(of: Distribution) -> Iterator[None]:
    before: Distribution | None = distributions.get()
    in_force = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
    # Not `strategy.scope()`, which cannot be inside the scope of another strategy.
    # In the scope of this strategy already, only the distribution is to be set.
    use = distributions.set if in_force is of.strategy else set_distribution
    use(of)
    try:
        yield
    finally:
        use(before)
