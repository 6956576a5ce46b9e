"""The loop of an LSTM in JAX (`export/convert/patterns.py`)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tfkit.src.export.convert.jax.lists import TensorList


def lstm(
    x: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    h: Any,
    c: Any,
    *,
    num_steps: int | None,
) -> list[Any]:
    """Returns the last output and memory of an LSTM, and the list of all outputs.

    Args:
        x: `(steps, batch, input_dim)`.
        kernel: `(input_dim, 4 * units)`.
        recurrent_kernel: `(units, 4 * units)`.
        bias: `(4 * units,)`.
        h: `(batch, units)`, the first output.
        c: `(batch, units)`, the first memory.
        num_steps: the number of steps; `None` if it varies.
    """
    steps = x.shape[0]
    if x.ndim != 3 or num_steps not in (None, steps):
        raise ValueError(f"An LSTM of {num_steps} steps has inputs of shape {x.shape}")

    def step(states: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
        h, c = states
        # Both products in each step: with one product of all rows before the loop, XLA takes twice as long.
        gates = row @ kernel + bias + h @ recurrent_kernel
        entry, forget, candidate, exit = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(entry) * jnp.tanh(candidate)
        h = jax.nn.sigmoid(exit) * jnp.tanh(c)
        return (h, c), h

    if isinstance(steps, int):
        (h, c), outputs = lax.scan(step, (h, c), x)
    else:  # A size that is free in an exported program, which `scan` does not accept.

        def body(time: Any, carried: tuple[Any, Any]) -> tuple[Any, Any]:
            states, outputs = carried
            row = lax.dynamic_index_in_dim(x, time, 0, keepdims=False)
            states, output = step(states, row)
            return states, lax.dynamic_update_index_in_dim(outputs, output, time, 0)

        empty = jnp.zeros((steps, *h.shape), h.dtype)
        (h, c), outputs = lax.fori_loop(0, steps, body, ((h, c), empty))
    return [h, c, TensorList(outputs, steps, "float32")]
