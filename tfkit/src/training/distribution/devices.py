"""The devices of this process, and its index among the processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

# The strategy of a training with several processes, which `initialize` has made.
_of_processes: list[tf.distribute.MultiWorkerMirroredStrategy] = []


def list_devices(device_type: str | None = None) -> list[str]:
    """Returns the names of this process's devices, as in `"cpu:0"`.

    Args:
        device_type: `"cpu"`, `"gpu"` or `"tpu"`. Default: GPUs and TPUs if there are any, else CPUs.

    Example:
        >>> list_devices("cpu")
        ['cpu:0']
    """
    if device_type is None:
        accelerators = [*list_devices("gpu"), *list_devices("tpu")]
        # The CPU is a device of its own only where there is no accelerator.
        return accelerators or list_devices("cpu")
    devices = tf.config.list_logical_devices(device_type.upper())
    # `/device:GPU:0` becomes `gpu:0`.
    return [device.name.rpartition("device:")[2].lower() for device in devices]


def get_device_count(device_type: str | None = None) -> int:
    """Returns the number of this process's devices.

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
) -> None:
    """Prepares a training with several processes. Call it at the start, before TensorFlow is used.

    Every process calls it with the same addresses and its own id, or without arguments where the environment
    variable `TF_CONFIG` is set. A `DataParallel` distribution then uses the devices of all processes, through
    a `tf.distribute.MultiWorkerMirroredStrategy`. Without arguments and variables, one process runs alone.

    Args:
        job_addresses: `"host:port"` of each process: a list, or one string with commas. Default: the
            environment variable `KERAS_DISTRIBUTION_JOB_ADDRESSES`.
        num_processes: number of processes. Default: the environment variable
            `KERAS_DISTRIBUTION_NUM_PROCESSES`, else the number of addresses.
        process_id: number of this process, from 0. Default: the environment variable
            `KERAS_DISTRIBUTION_PROCESS_ID`, else 0.

    Raises:
        RuntimeError: if it was called before, or after TensorFlow was used.
        ValueError: if the number or index of processes does not fit the addresses; if several have none.
    """
    variables = os.environ
    job_addresses = job_addresses or variables.get("KERAS_DISTRIBUTION_JOB_ADDRESSES")
    if num_processes is None and "KERAS_DISTRIBUTION_NUM_PROCESSES" in variables:
        num_processes = int(variables["KERAS_DISTRIBUTION_NUM_PROCESSES"])
    if not job_addresses and "TF_CONFIG" not in variables:
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
    if not job_addresses:
        # The strategy reads the cluster from TF_CONFIG.
        _of_processes.append(_strategy())
        return
    if isinstance(job_addresses, str):
        job_addresses = job_addresses.split(",")
    addresses = [address.strip() for address in job_addresses]
    if num_processes is None:
        num_processes = len(addresses)
    if process_id is None:
        process_id = int(variables.get("KERAS_DISTRIBUTION_PROCESS_ID", 0))
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
