"""AdamW: Adam with weight decay apart from the gradient."""

from __future__ import annotations

from typing import Any

from tfkit.src.optimizers.adam import Adam
from tfkit.src.optimizers.base import LearningRate


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
        clipnorm: greatest norm of a gradient; a gradient with a greater one is scaled down to it.
            `None` for no limit.
        clipvalue: limit of the entries of gradients, which are clipped to
            `[-clipvalue, clipvalue]`; `None` for no limit.
        global_clipnorm: greatest norm of all gradients together, which are scaled down to it.
            `None` for no limit.
        use_ema: whether to keep an exponential moving average of each variable. Default: `False`.
        ema_momentum: share of the old average in the new one, from 0 to 1. Default: `0.99`.
        ema_overwrite_frequency: number of updates after which variables are set to their averages,
            each time; `None` for only once, in `finalize_variable_values()`, at the end of `fit`.
        loss_scale_factor: factor by which `scale_loss()` multiplies the loss and `apply()` divides
            gradients, against underflow in 16 bits; `None` for 1.
        gradient_accumulation_steps: number of calls of `apply()`, at least 2, whose gradients are
            averaged for one update; `None` for an update in each call.
        name: name of the optimizer; `None` for one that is made from the class's name.

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
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if weight_decay is None:
            raise ValueError(
                "`weight_decay` of AdamW must be a float. Received: weight_decay=None. Use Adam to "
                "have none."
            )
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            amsgrad=amsgrad,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            use_ema=use_ema,
            ema_momentum=ema_momentum,
            ema_overwrite_frequency=ema_overwrite_frequency,
            loss_scale_factor=loss_scale_factor,
            gradient_accumulation_steps=gradient_accumulation_steps,
            name=name,
            **kwargs,
        )
