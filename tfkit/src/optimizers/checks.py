"""Checks of the arguments that all optimizers take."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.frames import warn


def check_unknown(owner: str, arguments: dict[str, Any]) -> None:
    """Raises an error for unknown arguments; warns of `decay`, which Keras ignores."""
    if "decay" in arguments:
        warn(
            f"Argument `decay` of {owner} has no effect any more. Received: decay={arguments['decay']!r}. "
            "Pass `optimizers.schedules.InverseTimeDecay(...)` as `learning_rate` to let it fall."
        )
    unknown = {name: value for name, value in arguments.items() if name != "decay"}
    if unknown:
        hint = " `lr` is called `learning_rate`." if "lr" in unknown else ""
        raise ValueError(f"Argument(s) not recognized by {owner}: {unknown}.{hint}")


def check_clipping(
    clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> None:
    """Raises an error for more than one way of clipping."""
    if sum(option is not None for option in (clipnorm, clipvalue, global_clipnorm)) > 1:
        raise ValueError(
            "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
            f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
        )


def check_accumulation(gradient_accumulation_steps: int | None) -> None:
    """Raises an error for accumulation over fewer than two steps."""
    if gradient_accumulation_steps and gradient_accumulation_steps < 2:
        raise ValueError(
            "`gradient_accumulation_steps` must be an integer >= 2, or None. "
            f"Received: gradient_accumulation_steps={gradient_accumulation_steps}"
        )


def check_share(**arguments: float) -> None:
    """Raises an error for arguments outside [0, 1]."""
    for name, value in arguments.items():
        if not 0 <= value <= 1:
            raise ValueError(f"`{name}` must be in the range [0, 1]. Received: {name}={value!r}")


def check_ema(momentum: float, overwrite_frequency: int | None) -> None:
    """Raises an error for a momentum outside [0, 1] and a frequency that is not a positive integer."""
    if not 0 <= momentum <= 1:
        raise ValueError(
            f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}"
        )
    if overwrite_frequency and (
        not isinstance(overwrite_frequency, int) or overwrite_frequency < 1
    ):
        raise ValueError(
            "`ema_overwrite_frequency` must be an integer >= 1, or None. "
            f"Received: ema_overwrite_frequency={overwrite_frequency}"
        )
