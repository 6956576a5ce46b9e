"""`DataParallel`: each device has all weights, and its rows of every batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.training.distribution.devices import in_jax, list_devices, strategy_of_processes
from tfkit.src.training.distribution.distribution import Distribution
from tfkit.src.training.distribution.layouts import DeviceMesh


class DataParallel(Distribution):
    """Each device holds all weights, and computes the gradients of its share of every batch.

    A model that is made under `scope()`, or after `set_distribution()`, is trained by `fit` on all devices of
    the distribution, with the results of one device. On TensorFlow it is a `tf.distribute.MirroredStrategy`
    of the devices, or after `initialize()` the `MultiWorkerMirroredStrategy` of all processes. After
    `initialize(engine="jax")` it is for models that JAX trains, under `compile(engine="jax")`.

    Args:
        device_mesh: the devices, in a mesh with one axis.
        devices: the names of the devices, if there is no mesh. Default: `list_devices()`.
        auto_shard_dataset: must be `True` with several processes: each reads all of a dataset, and uses
            its rows of every batch.
        shard_optimizer_state: whether JAX divides the slots of the optimizer among the devices, as ZeRO does
            in its first stage. Default: `False`.

    Attributes:
        strategy: the strategy of `tf.distribute`; `None` if JAX has the devices.

    Raises:
        ValueError: if `device_mesh` is not a `DeviceMesh`, has more than one axis or other devices than
            `devices`; if a dataset is not to be divided among processes; for `shard_optimizer_state=True` on
            TensorFlow.
    """

    @shortened
    def __init__(
        self,
        device_mesh: DeviceMesh | None = None,
        devices: Sequence[str] | None = None,
        auto_shard_dataset: bool = True,
        *,
        shard_optimizer_state: bool = False,
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
        strategy = None
        if not in_jax():
            if shard_optimizer_state:
                raise ValueError(
                    "`shard_optimizer_state=True` is for models that JAX trains: call "
                    "`keras.distribution.initialize(engine='jax')` first."
                )
            strategy = strategy_of_processes() or _strategy_of(device_mesh.devices.tolist())
        axis = device_mesh.axis_names[0]
        super().__init__(device_mesh, axis, auto_shard_dataset, shard_optimizer_state, strategy)

    @property
    def num_model_replicas(self) -> int:
        """The number of devices with all weights."""
        if self.strategy is None:
            return super().num_model_replicas
        return int(self.strategy.num_replicas_in_sync)


def _strategy_of(devices: list[str]) -> tf.distribute.Strategy:
    """Returns the strategy that uses devices of this process."""
    if len(devices) == 1:
        return tf.distribute.OneDeviceStrategy(devices[0])
    return tf.distribute.MirroredStrategy(devices)
