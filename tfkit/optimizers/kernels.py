"""TensorFlow's fused update kernels, and when one is better than the formula in many operations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_DTYPES = (tf.float32, tf.float64)

# Ten variables of one size, Adam, microseconds a step in a graph loop on two CPU cores:
#   numbers in each    64    256    512   2048   16384   65536   262144
#   formula            91     93     98    131     308    1936     6762
#   kernel             33     28    244    326     402     592     2105
# In between, waking the threads that the kernel asks for costs more than the update. XLA compiles
# both to the same program.
_SMALL = 256
_LARGE = 32_768


def pays(variable: tf.Variable, gradient: Any) -> bool:
    """Whether a fused kernel can update `variable`, and is faster than the formula."""
    if isinstance(gradient, tf.IndexedSlices) or variable.dtype not in _DTYPES:
        return False
    if not isinstance(variable, tf.Variable) or isinstance(
        variable, tf.distribute.DistributedValues
    ):
        return False
    size = variable.shape.num_elements()
    return size is not None and (size <= _SMALL or size >= _LARGE)


def apply_adam(
    w: tf.Variable,
    g: tf.Tensor,
    m: tf.Variable,
    v: tf.Variable,
    t: tf.Tensor,
    alpha: tf.Tensor,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> None:
    """`adam.adam`, in place."""
    beta_1, beta_2 = tf.cast(beta_1, t.dtype), tf.cast(beta_2, t.dtype)
    tf.raw_ops.ResourceApplyAdam(
        var=w.handle,
        m=m.handle,
        v=v.handle,
        beta1_power=tf.pow(beta_1, t),
        beta2_power=tf.pow(beta_2, t),
        lr=alpha,
        beta1=beta_1,
        beta2=beta_2,
        epsilon=tf.cast(epsilon, t.dtype),
        grad=g,
    )


def apply_momentum(
    w: tf.Variable, g: tf.Tensor, v: tf.Variable, alpha: tf.Tensor, mu: float, nesterov: bool
) -> None:
    """`sgd.momentum_descent`, in place."""
    tf.raw_ops.ResourceApplyKerasMomentum(
        var=w.handle,
        accum=v.handle,
        lr=alpha,
        grad=g,
        momentum=tf.cast(mu, w.dtype),
        use_nesterov=nesterov,
    )
