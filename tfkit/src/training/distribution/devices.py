"""The devices of this process, and its index among the processes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import packages
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.engine import replicas
from tfkit.src.training.compile_settings import ENGINES
from tfkit.src.weights.random import set_random_seed

# The strategy of a training run with several processes, which `initialize` has made.
_of_processes: list[tf.distribute.MultiWorkerMirroredStrategy] = []
# Whether `initialize` was called with `engine="jax"`, and with several processes.
_jax: list[bool] = []


@shortened
def list_devices(device_type: str | None = None) -> list[str]:
    """Returns the names of this process's devices, as in `"cpu:0"`; after `initialize(engine="jax")`, JAX's.

    JAX's are those of all processes.

    Args:
        device_type: `"cpu"`, `"gpu"` or `"tpu"`. Default: GPUs and TPUs if there are any, else CPUs.

    Example:
        >>> list_devices("cpu")
        ['cpu:0']
    """
    if in_jax():
        kind = None if device_type is None else device_type.lower()
        return [f"{it.platform}:{it.id}" for it in _module("jax").devices(kind)]
    if device_type is None:
        accelerators = [*list_devices("gpu"), *list_devices("tpu")]
        # The CPU is a device of its own only where there is no accelerator.
        return accelerators or list_devices("cpu")
    devices = tf.config.list_logical_devices(device_type.upper())
    # `/device:GPU:0` becomes `gpu:0`.
    return [device.name.rpartition("device:")[2].lower() for device in devices]


def get_device_count(device_type: str | None = None) -> int:
    """Returns the number of devices that `list_devices` returns.

    Args:
        device_type: as for `list_devices`.

    Example:
        >>> get_device_count("cpu")
        1
    """
    return len(list_devices(device_type))


def initialize(
    job_addresses: str | Sequence[str] | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    engine: str | None = None,
) -> None:
    """Prepares training with several processes, or with JAX's devices. Call it at the start of the program.

    Every process calls it with the same addresses and its own id, or without arguments where the environment
    variable `TF_CONFIG` is set. A `DataParallel` distribution then uses the devices of all processes, through
    a `tf.distribute.MultiWorkerMirroredStrategy`. Without arguments and variables, one process runs alone.

    With `engine="jax"`, `list_devices`, `DeviceMesh` and `DataParallel` use the devices of JAX, those of all
    processes, which `jax.distributed` connects; and TensorFlow leaves GPUs to JAX. Only the address of the
    first process is needed; on Slurm none. The processes agree on a seed: a program that sets one does it
    afterwards.

    Args:
        job_addresses: `"host:port"` of each process: a list, or one string with commas. Default: the
            environment variable `KERAS_DISTRIBUTION_JOB_ADDRESSES`.
        num_processes: number of processes. Default: the environment variable
            `KERAS_DISTRIBUTION_NUM_PROCESSES`, else the number of addresses.
        process_id: number of this process, from 0. Default: the environment variable
            `KERAS_DISTRIBUTION_PROCESS_ID`, else 0.
        engine: `"tensorflow"` or `"jax"`, which trains the models. Default: the environment variable
            `TFKIT_DISTRIBUTION_ENGINE`, which `tfkit launch --engine jax` sets, else `"tensorflow"`.

    Raises:
        RuntimeError: if it was called before, or after TensorFlow or JAX was used.
        ValueError: if the number or index of processes does not fit the addresses; if several have none; for
            an unknown engine.
    """
    variables = os.environ
    given = job_addresses or variables.get("KERAS_DISTRIBUTION_JOB_ADDRESSES") or []
    addresses = [it.strip() for it in (given.split(",") if isinstance(given, str) else given)]
    if num_processes is None and "KERAS_DISTRIBUTION_NUM_PROCESSES" in variables:
        num_processes = int(variables["KERAS_DISTRIBUTION_NUM_PROCESSES"])
    if num_processes is None and addresses:
        num_processes = len(addresses)
    if process_id is None and "KERAS_DISTRIBUTION_PROCESS_ID" in variables:
        process_id = int(variables["KERAS_DISTRIBUTION_PROCESS_ID"])
    engine = engine or variables.get("TFKIT_DISTRIBUTION_ENGINE", "tensorflow")
    if engine not in ENGINES:
        raise ValueError(f"`engine` must be 'tensorflow' or 'jax'. Received: {engine!r}")
    if engine == "jax":
        _initialize_jax(addresses, num_processes, process_id)
        return
    if not addresses and "TF_CONFIG" not in variables:
        if num_processes not in (None, 1):
            raise ValueError(
                "TensorFlow does not find other processes automatically. Pass `job_addresses`, the "
                f"'host:port' of each one. Received: num_processes={num_processes}"
            )
        return
    if _of_processes:
        raise RuntimeError(
            "`initialize()` was called before. Call it once, when the program starts."
        )
    if not addresses:
        # The strategy reads the cluster from TF_CONFIG.
        _of_processes.append(_strategy())
        return
    process_id = process_id or 0
    if num_processes != len(addresses) or not 0 <= process_id < len(addresses):
        raise ValueError(
            "TensorFlow needs the address of every process, and the number of this one among them. "
            f"Received: job_addresses={addresses}, num_processes={num_processes}, process_id={process_id}"
        )
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": addresses}),
        task_type="worker",
        task_id=process_id,
        rpc_layer="grpc",
        # Without them, the strategy uses the CPU.
        num_accelerators={"GPU": len(tf.config.list_physical_devices("GPU"))},
    )
    _of_processes.append(_strategy(cluster_resolver=resolver))


def _strategy(**options: Any) -> tf.distribute.MultiWorkerMirroredStrategy:
    """Returns the strategy of all processes."""
    try:
        return tf.distribute.MultiWorkerMirroredStrategy(**options)
    except RuntimeError as error:
        raise RuntimeError(
            "Call `initialize()` at the start of the program, before TensorFlow computes or makes anything: "
            f"{error}"
        ) from None


def strategy_of_processes() -> tf.distribute.Strategy | None:
    """Returns the strategy that `initialize` has made; `None` if one process runs alone."""
    return _of_processes[0] if _of_processes else None


def in_jax() -> bool:
    """Whether `initialize(engine="jax")` was called: devices are those of JAX."""
    return bool(_jax)


def place(strategy: Any) -> tuple[int, int]:
    """Returns the index of this process, and the number of processes."""
    if strategy is not None:
        return replicas.place(strategy)[1:]
    if not any(_jax):
        return 0, 1
    jax = _module("jax")
    return jax.process_index(), jax.process_count()


def _initialize_jax(
    addresses: list[str], num_processes: int | None, process_id: int | None
) -> None:
    """Connects the processes by `jax.distributed`, if there are several, and uses JAX's devices."""
    if _jax:
        raise RuntimeError(
            "`initialize()` was called before. Call it once, when the program starts."
        )
    jax = _module("jax")
    on_slurm = not addresses and int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) > 1
    several = on_slurm or (num_processes or 1) > 1
    if several and not on_slurm:
        number, count = num_processes or 1, len(addresses)
        if count not in (1, number) or process_id is None or not 0 <= process_id < number:
            raise ValueError(
                "JAX needs the address of the first process, or of all, the number of processes, and the "
                f"number of this one. Received: job_addresses={addresses}, "
                f"num_processes={num_processes}, process_id={process_id}"
            )
    if tf.config.list_physical_devices("GPU"):
        tf.config.set_visible_devices([], "GPU")  # TensorFlow would take their memory.
    if several:
        first = addresses[0] if addresses else None
        jax.distributed.initialize(first, num_processes, process_id)
    _jax.append(several)
    if several:
        # Their weights and orders of rows must be equal.
        seed = secrets.randbelow(2**31)
        utilities = _module("jax.experimental.multihost_utils")
        set_random_seed(int(utilities.broadcast_one_to_all(np.int32(seed))))


def _module(name: str) -> Any:
    return packages.imported(
        name, "`keras.distribution` with `engine='jax'`", "JAX", "'tfkit-dl[jax]'"
    )
