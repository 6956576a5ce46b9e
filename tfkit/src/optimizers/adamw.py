"""AdamW: Adam with weight decay decoupled from the gradient."""

from __future__ import annotations

from typing import Unpack

from tfkit.src.base.registry.constructors import given
from tfkit.src.optimizers.adam import Adam
from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.options import OptionsButDecay, shares_options


@shares_options
class AdamW(Adam):
    """Adam with decoupled weight decay: the step of `Adam`, and `w -= learning_rate * weight_decay * w`.

    `exclude_from_weight_decay()` names variables that do not decay, such as biases.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        weight_decay: factor of the decay. Default: `0.004`.
        beta_1: decay of the first moment (the mean of gradients), from 0 to below 1. Default:
            `0.9`.
        beta_2: decay of the second moment (the mean of squared gradients), from 0 to below 1.
            Default: `0.999`.
        epsilon: small number that is added to the root of the second moment. Default: `1e-07`.
        amsgrad: whether to divide by the largest second moment so far (AMSGrad). Default: `False`.
        **options: options of every optimizer, which `Optimizer` describes: clipping, moving averages,
            loss scaling, gradient accumulation, the name.

    Raises:
        ValueError: if `weight_decay` is `None`, if the learning rate is not a float, if more than
            one way of clipping is given, or if a number is out of range.

    Reference:
        Loshchilov & Hutter, "Decoupled weight decay regularization", 2019.

    Example:
        >>> w = tf.Variable(1.0)
        >>> AdamW(learning_rate=0.1, weight_decay=0.5).apply([2.0 * w], [w])
        >>> round(float(w), 5)
        0.85
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[OptionsButDecay],
    ) -> None:
        if weight_decay is None:
            raise ValueError(
                "`weight_decay` of AdamW must be a float. Received: weight_decay=None. Use Adam to have none."
            )
        super().__init__(**given(locals()))
