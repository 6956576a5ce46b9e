"""How many steps a program runs."""

from __future__ import annotations

# A program ends often enough for the bar to be redrawn and Ctrl-C to be heard.
_SECONDS_A_PROGRAM = 0.1


class Pace:
    """How many steps the next program should run to take about a tenth of a second.

    Args:
        limit: the most steps, if the user has said so.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._steps = limit or 1

    def steps(self, left: int | None, callback_limit: int | None) -> int:
        """Steps of the next program."""
        limits = [limit for limit in (left, callback_limit) if limit is not None]
        return max(1, min([self._steps, *limits]))

    def learn(self, steps: int, seconds: float) -> None:
        """Notes how long the last program took."""
        if self._limit is None:
            per_step = seconds / max(steps, 1)
            self._steps = int(
                min(max(_SECONDS_A_PROGRAM / max(per_step, 1e-7), 1), self._steps * 8)
            )
