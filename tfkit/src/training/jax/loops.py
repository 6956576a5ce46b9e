"""The loop over steps that JAX compiles: the same in `fit` and in a training program that is a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Arrays = dict[str, Any]


def run_steps(
    parts: Any,
    changing: Arrays,
    fixed: Arrays,
    batch_at: Callable[[Any], list[Any]],
    num_steps: Any,
) -> tuple[Arrays, list[Any], Any]:
    """Returns the values after the steps, the logs of the last one, and the results of metrics.

    Args:
        parts: the step as functions of JAX.
        changing: the values that a step writes, by path.
        fixed: the values that it only reads.
        batch_at: function of the index of a step that returns the tensors of its batch.
        num_steps: number of steps, which may be an array.
    """
    # One trace for the forms of the logs and for the loop.
    step = jax.jit(parts.step, inline=True)

    def body(index: Any, state: tuple[Arrays, Any]) -> tuple[Arrays, list[Any]]:
        changing, _ = state
        after, logs = step({**fixed, **changing}, batch_at(index))
        after = {
            path: jnp.reshape(after[path], it.shape).astype(it.dtype)
            for path, it in changing.items()
        }
        return after, logs

    forms = jax.eval_shape(lambda changing: body(np.int32(0), (changing, None))[1], changing)
    logs = [jnp.zeros(it.shape, it.dtype) for it in forms]
    changing, logs = lax.fori_loop(0, num_steps, body, (changing, logs))
    last = None
    if parts.finish is not None:
        last = parts.finish[0]([], {**fixed, **changing})
    return changing, logs, last
