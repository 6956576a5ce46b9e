"""A process that serves TensorFlow's operations to a coordinator: a worker or a parameter server."""

from __future__ import annotations

import contextlib
import os
import time

import tensorflow as tf

# The process that launched this one; the server ends with it.
LAUNCHER = "TFKIT_LAUNCHER"


def serve() -> None:
    """Serves the task of `TF_CONFIG` until the process is stopped.

    Raises:
        ValueError: without `TF_CONFIG`.
    """
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if not resolver.cluster_spec().jobs:
        raise ValueError(
            "`--server` serves the task in the environment variable TF_CONFIG, which is not set. "
            'Set it, as in \'{"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222"], '
            '"ps": ["host2:2222"]}, "task": {"type": "worker", "index": 0}}\'.'
        )
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol=resolver.rpc_layer or "grpc",
    )
    launcher = os.environ.get(LAUNCHER)
    with contextlib.suppress(KeyboardInterrupt):
        if launcher is None:
            server.join()  # It never returns.
        while launcher is not None and os.getppid() == int(launcher):
            time.sleep(0.5)
