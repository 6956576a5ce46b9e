"""Numbers of channels of networks whose width can be chosen."""

from __future__ import annotations


def divisible(channels: float, divisor: int = 8) -> int:
    """Returns the nearest multiple of `divisor` that is at least 0.9 times `channels`.

    Args:
        channels: the number to round.
        divisor: what the result is a multiple of, and its least value. Default: `8`.
    """
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
