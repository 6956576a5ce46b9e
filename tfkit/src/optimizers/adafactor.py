"""Adafactor: second moments of matrices stored as one row and one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import dense, multiply, square
from tfkit.src.optimizers.options import Options, SlotsMadeOnce, shares_options
from tfkit.src.optimizers.slots import Slot
from tfkit.src.weights.variables.name_scope import variable_path


def rms(x: Any) -> tf.Tensor:
    """Returns the root of the mean square."""
    return tf.sqrt(tf.reduce_mean(dense(square(x))))


def factored(r: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
    """Returns the matrices whose means along the last two axes are `r` and `c`."""
    # Shazeer and Stern (2018): the matrix of rank 1 with these means, which minimizes the
    # divergence.
    share = r / tf.reduce_mean(r, axis=-1, keepdims=True)
    return share[..., :, tf.newaxis] * c[..., tf.newaxis, :]  # (..., rows, columns)


def adafactor(
    w: tf.Tensor, g: Any, v: tf.Tensor, rho: tf.Tensor, epsilon_2: float, clip_threshold: float
) -> tf.Tensor:
    """Returns new `w`; `v` is the second moment, `rho` the relative step size.

    Reference:
        Shazeer & Stern, 2018: Adafactor, algorithms 4 and 5. https://arxiv.org/abs/1804.04235
    """
    # Relative to the weights: a variable of zeros would never move without the lower limit.
    alpha = tf.maximum(tf.cast(epsilon_2, w.dtype), rms(w)) * rho
    # U_t = G_t / sqrt(V_t), scaled down below if its root mean square exceeds the threshold.
    u = multiply(g, 1 / tf.sqrt(v))
    return w - alpha * dense(u) / tf.maximum(tf.ones((), w.dtype), rms(u) / clip_threshold)


@shares_options
class Adafactor(SlotsMadeOnce):
    """Adafactor: stores squared gradients of matrices as means of rows and columns, to save memory.

    Steps are in proportion to the size of a variable:
    `w -= rho * max(epsilon_2, rms(w)) * u / max(1, rms(u) / clip_threshold)`, with `u` the gradient
    over the root of its second moment and `rho` the learning rate.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        beta_2_decay: exponent of the decay of the second moment, which in update `t` is
            `1 - t**beta_2_decay`. Default: `-0.8`.
        epsilon_1: small number that is added to squared gradients. Default: `1e-30`.
        epsilon_2: smallest size of a variable to which steps are in proportion. Default: `0.001`.
        clip_threshold: largest root mean square of a step before it is multiplied by the learning
            rate. Default: `1.0`.
        relative_step: whether the learning rate is limited to `1 / sqrt(t)` in update `t`. Default:
            `True`.
        **options: options of every optimizer, which `Optimizer` describes: weight decay, clipping,
            moving averages, loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Shazeer & Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018.

    Example:
        >>> w = tf.Variable(tf.ones((2, 2)))
        >>> Adafactor(learning_rate=0.5).apply([tf.ones((2, 2))], [w])
        >>> w.numpy().round(3).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold
        self.relative_step = relative_step

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes a row, a column and a whole second moment of each variable."""
        self._r: list[tf.Variable] = []
        self._c: list[tf.Variable] = []
        self._v: list[tf.Variable] = []
        for variable in var_list:
            name, shape = variable_path(variable).split("/")[-1], tuple(variable.shape)
            # A variable with fewer than two axes is not factored: two scalars take the place of the factors
            # in Keras's files.
            r_shape, c_shape, dtype = (), (), "int32"
            if len(shape) >= 2:
                r_shape, c_shape, dtype = shape[:-1], shape[:-2] + shape[-1:], variable.dtype
            for slots, slot_shape, kind in (
                (self._r, r_shape, "row"),
                (self._c, c_shape, "column"),
            ):
                slots.append(self.add_variable(slot_shape, dtype=dtype, name=name))
                slots[-1].slot = Slot(variable, kind)
            self._v += self.add_optimizer_variables([variable], "velocity")

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its second moment."""
        index = self._get_variable_index(variable)
        r, c, v = self._r[index], self._c[index], self._v[index]
        g = tf.cast(gradient, variable.dtype)
        t = self._tfkit_step_number(variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        # rho_t of the paper, whose constant limit of 0.01 is the learning rate here.
        rho = tf.minimum(alpha, 1 / tf.sqrt(t)) if self.relative_step else alpha
        # 0 in the first step, so that no correction of the bias is needed.
        beta_2 = 1 - tf.pow(t, tf.cast(self.beta_2_decay, t.dtype))
        g2 = dense(square(g)) + self.epsilon_1
        if variable.shape.rank < 2:
            new_v = beta_2 * v + (1 - beta_2) * g2
        else:
            # Algorithm 4 with means in place of sums: r has
            # shape (..., rows), c has shape (..., columns).
            new_r = beta_2 * r + (1 - beta_2) * tf.reduce_mean(g2, axis=-1)
            new_c = beta_2 * c + (1 - beta_2) * tf.reduce_mean(g2, axis=-2)
            new_v = factored(new_r, new_c)
            self.assign(r, new_r)
            self.assign(c, new_c)
        self.assign(v, new_v)
        w = tf.convert_to_tensor(variable)
        variable.assign(adafactor(w, g, new_v, rho, self.epsilon_2, self.clip_threshold))
