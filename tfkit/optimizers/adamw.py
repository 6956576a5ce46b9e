"""AdamW: Adam with weight decay apart from the gradient."""

from __future__ import annotations

from typing import Any

from tfkit.optimizers.adam import Adam
from tfkit.optimizers.base import LearningRate


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Args:
        learning_rate: a float, a schedule, or a function without arguments.
        weight_decay: each step takes `learning_rate * weight_decay` of each variable away from it.
        beta_1: decay of the first moment (the mean of gradients), in [0, 1).
        beta_2: decay of the second moment (the mean of their squares), in [0, 1).
        epsilon: added to the root of the second moment.
        amsgrad: whether to divide by the largest second moment so far.
        clipnorm: and the arguments after it: see `Optimizer`.

    Raises:
        ValueError: when `weight_decay` is `None`.

    Reference:
        Loshchilov & Hutter, 2019: Decoupled weight decay regularization.
        https://arxiv.org/abs/1711.05101
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
