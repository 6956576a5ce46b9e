"""TensorFlow's kernel for an LSTM over whole sequences, with which few rows are predicted sooner.

It computes `predict`, and direct calls that no tape follows.

Microseconds of CPU time for 20 steps on two cores, by the loop and by the kernel:

| units, features | values | 1 row | 16 rows | 32 rows | 64 rows | 128 rows |
|---|--:|--:|--:|--:|--:|--:|
| 32, 16 | 6,144 | 50, 50 | 272, 112 | 327, 162 | 518, 276 | 752, 456 |
| 64, 8 | 18,432 | 210, 67 | 335, 174 | 516, 287 | 825, 526 | 1,640, 2,170 |
| 64, 32 | 24,576 | 218, 71 | 362, 191 | 589, 337 | 1,120, 2,080 | 1,790, 2,300 |
| 96, 64 | 61,440 | 210, 120 | 544, 394 | 1,120, 1,960 | 1,430, 2,170 | 2,880, 3,990 |
| 128, 32 | 81,920 | 255, 149 | 620, 426 | 1,670, 3,250 | 2,130, 3,150 | 4,490, 6,020 |

From about 1.3 million multiplications on, the kernel's products use several threads, which wait for each
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.engine.machine import predicts_only
from tfkit.src.ops import activation_lookup as activations

# Multiplications of a step, by kernels of so many values together, with which TensorFlow's kernel is faster.
_MOST_PRODUCTS, _MOST_VALUES = 1_200_000, 65_000
_MOST_ROWS = 128
_MOST_VALUES_OF_ONE_ROW = 100_000
_NO_GRADIENT = "A prediction of an LSTM has no gradient by `tf.gradients`: use `tf.GradientTape`."


def most_rows(cell: Any, inputs: tf.Tensor, mask: Any) -> int:
    """Returns the most rows that the kernel is to compute; 0 where it computes something else, or is slower.

    Args:
        cell: an `LSTMCell`, not in training.
        inputs: `(steps, batch, input_dim)`.
        mask: booleans, `(steps, batch)`, or `None`.
    """
    weights = [cell.kernel, cell.recurrent_kernel, cell.bias]
    is_plain = (
        predicts_only()  # TensorFlow's gradient of the kernel is wrong (2.21).
        and mask is None
        and all(isinstance(it, tf.Variable) for it in weights)
        and cell.activation is activations.get("tanh")
        and cell.recurrent_activation is activations.get("sigmoid")
        and {inputs.dtype, *(tf.as_dtype(it.dtype) for it in weights)} == {tf.float32}
        and cell.compute_dtype == "float32"
        and bool(inputs.shape[0])
    )
    if not is_plain:
        return 0
    size = sum(it.shape.num_elements() for it in weights[:2])
    if size <= _MOST_VALUES:
        return min(_MOST_ROWS, _MOST_PRODUCTS // size)
    return int(size <= _MOST_VALUES_OF_ONE_ROW)


def run(
    cell: Any,
    inputs: tf.Tensor,
    states: list[tf.Tensor],
    loop: Callable[[], tuple[tf.Tensor, list[tf.Tensor]]],
    rows: int,
    all_outputs: bool,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Returns the outputs, `(steps, batch, units)` or the last one, and the last states.

    Args:
        cell: the cell.
        inputs: `(steps, batch, input_dim)`.
        states: output and memory before the first step, `(batch, units)` each.
        loop: function that returns the results for more rows.
        rows: the most rows that TensorFlow's kernel computes.
        all_outputs: whether the outputs of all steps are wanted.
    """

    def by_kernel() -> tuple[tf.Tensor, list[tf.Tensor]]:
        absent = tf.zeros((cell.units,))  # Weights from the memory to the gates.
        found = tf.raw_ops.BlockLSTMV2(
            seq_len_max=tf.constant(inputs.shape[0], "int64"),
            x=inputs,
            cs_prev=states[1],
            h_prev=states[0],
            w=tf.concat([cell.kernel, cell.recurrent_kernel], axis=0),
            wci=absent,
            wcf=absent,
            wco=absent,
            b=cell.bias,
            cell_clip=0,
            use_peephole=False,
        )
        # `tf.gradients` is not announced as a tape is.
        h, c = (
            tf.raw_ops.PreventGradient(input=it, message=_NO_GRADIENT) for it in (found.h, found.cs)
        )
        return h if all_outputs else h[-1], [h[-1], c[-1]]

    if (size := inputs.shape[1]) is not None:
        return by_kernel() if size <= rows else loop()
    outputs, final = tf.cond(tf.shape(inputs)[1] <= rows, by_kernel, loop)
    return outputs, list(final)
