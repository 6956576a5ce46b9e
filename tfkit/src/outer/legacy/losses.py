"""Short names of losses as functions, and `Reduction`: `tf.keras.losses` and `tf.keras.metrics`."""

from __future__ import annotations

from tfkit.src.losses.probabilistic import kl_divergence
from tfkit.src.losses.regression import (
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)

kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
mse = MSE = mean_squared_error
msle = MSLE = mean_squared_logarithmic_error


class Reduction:
    """Names of the ways in which a loss becomes one number."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises a `ValueError` for what is none of them."""
        if key not in cls.all():
            raise ValueError(f"`reduction` must be one of {cls.all()}. Received: {key!r}")


NAMES = (
    *("kld", "KLD", "kullback_leibler_divergence", "logcosh", "mae", "MAE"),
    *("mape", "MAPE", "mse", "MSE", "msle", "MSLE"),
)
