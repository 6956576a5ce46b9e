"""Distributions: how a training uses several devices, by a strategy of `tf.distribute`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.context import ThreadSetting
from tfkit.src.engine import replicas
from tfkit.src.training.distribution.devices import list_devices, strategy_of_processes
from tfkit.src.training.distribution.layouts import UNDIVIDED, DeviceMesh, TensorLayout


class DataParallel:
    """Each device holds all weights, and computes the gradients of its share of every batch.

    A model that is made under `scope()`, or after `set_distribution()`, is trained by `fit` on all devices of
    the distribution, with the results of one device. It is a `tf.distribute.MirroredStrategy` of the devices;
    after `initialize()`, the `MultiWorkerMirroredStrategy` of all processes.

    Args:
        device_mesh: the devices, in a mesh with one axis.
        devices: the names of the devices, if there is no mesh. Default: `list_devices()`.
        auto_shard_dataset: must be `True` with several processes: each reads all of a dataset, and uses
            its rows of every batch.

    Attributes:
        strategy: the strategy of `tf.distribute`.

    Raises:
        ValueError: if `device_mesh` is not a `DeviceMesh`, has more than one axis or other devices than
            `devices`, or if a dataset is not to be divided among processes.
    """

    def __init__(
        self,
        device_mesh: DeviceMesh | None = None,
        devices: Sequence[str] | None = None,
        auto_shard_dataset: bool = True,
    ) -> None:
        names = [] if devices is None else np.asarray(devices).ravel().tolist()
        if device_mesh is None:
            names = names or list_devices()
            device_mesh = DeviceMesh((len(names),), ["batch"], names)
        if not isinstance(device_mesh, DeviceMesh):
            raise ValueError(
                "`device_mesh` must be a `DeviceMesh`. "
                f"Received: {device_mesh!r} (of type {type(device_mesh).__name__})"
            )
        if names and names != device_mesh.devices.ravel().tolist():
            raise ValueError(
                "`devices` are not those of `device_mesh`; pass one of them. "
                f"Received: device_mesh of {device_mesh.devices.tolist()}, devices={names}"
            )
        if len(device_mesh.shape) > 1:
            raise ValueError(
                f"Batches are divided along one axis of devices. Received: device_mesh={device_mesh}"
            )
        self._device_mesh = device_mesh
        self._auto_shard_dataset = auto_shard_dataset
        self.strategy = strategy_of_processes() or _strategy_of(device_mesh.devices.tolist())
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
        return self._device_mesh.axis_names[0]

    @property
    def auto_shard_dataset(self) -> bool:
        """Whether `fit` divides a dataset among processes."""
        return self._auto_shard_dataset

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        return replicas.place(self.strategy)[2]

    @property
    def num_model_replicas(self) -> int:
        """The number of devices with all weights."""
        return int(self.strategy.num_replicas_in_sync)

    @property
    def data_shard_id(self) -> int:
        """The number of this process among those that read data."""
        return replicas.place(self.strategy)[1]

    def get_data_layout(self, data_shape: Sequence[int | None]) -> TensorLayout:
        """Returns the layout of a batch: divided along its first axis. A scalar is not divided."""
        axes = [self.batch_dim_name, *([None] * (len(data_shape) - 1))]
        # A scalar has no axis left.
        return TensorLayout(axes[: len(data_shape)], self._device_mesh)

    def get_variable_layout(self, variable: Any) -> TensorLayout:
        """Returns the layout of a variable: it is not divided."""
        return TensorLayout([None] * len(variable.shape), self._device_mesh)

    def get_tensor_layout(self, path: str) -> None:
        """Returns `None`: the tensors between layers are not placed by their paths."""

    def scope(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which models are made for this distribution."""
        return _scope(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} device_mesh={self._device_mesh}>"


class ModelParallel:
    """Weights that are divided among devices: not available.

    Args:
        layout_map: the layouts of variables.
        batch_dim_name: the mesh's axis along which batches are divided.
        auto_shard_dataset: whether `fit` divides a dataset among processes.

    Raises:
        NotImplementedError: always, with the name of the alternative.
    """

    def __init__(
        self,
        *,
        layout_map: Any = None,
        batch_dim_name: str | None = None,
        auto_shard_dataset: bool = True,
    ) -> None:
        raise NotImplementedError(UNDIVIDED)


# As with TensorFlow's strategies, each thread has its own.
_current: ThreadSetting[DataParallel | None] = ThreadSetting(
    "distribution", None, make=lambda: None
)


def distribution() -> DataParallel | None:
    """Returns the distribution in use; `None` if there is none.

    Example:
        >>> distribution()
    """
    return _current.get()


def set_distribution(value: DataParallel | None) -> None:
    """Uses a distribution for all models that this thread makes from now on.

    Args:
        value: the distribution; `None` for none.

    Raises:
        TypeError: for anything else.
        RuntimeError: inside the scope of a strategy of `tf.distribute`.
    """
    if value is not None and not isinstance(value, DataParallel):
        raise TypeError(
            "`set_distribution()` accepts a `DataParallel` or None. "
            f"Received: {value!r} (of type {type(value).__name__})"
        )
    tf.distribute.experimental_set_strategy(value and value.strategy)
    _current.set(value)


@contextlib.contextmanager
def _scope(of: DataParallel) -> Iterator[None]:
    before = _current.get()
    is_in_use = tf.distribute.has_strategy() and tf.distribute.get_strategy() is of.strategy
    # Not `strategy.scope()`, which cannot be inside the scope of another strategy.
    # In the scope of this strategy already, only the distribution is to be set.
    use = _current.set if is_in_use else set_distribution
    use(of)
    try:
        yield
    finally:
        use(before)


def _strategy_of(devices: list[str]) -> tf.distribute.Strategy:
    """Returns the strategy that uses devices of this process."""
    if len(devices) == 1:
        return tf.distribute.OneDeviceStrategy(devices[0])
    return tf.distribute.MirroredStrategy(devices)
