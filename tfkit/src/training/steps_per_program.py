"""Chooses the number of steps of each program."""

from __future__ import annotations

# A program ends often enough to redraw the bar and to react to Ctrl-C.
_SECONDS_A_PROGRAM = 0.1


class StepsPerProgram:
    """The number of steps with which the next program takes about a tenth of a second.

    Args:
        limit: the largest number of steps, if the user has set one.
        first: least number of steps of the first program, unless there is a limit.
        multiple: steps that are computed together. Unless a limit cuts them, programs have multiples of
            this number: what is computed together does not depend on the time that it takes.
    """

    def __init__(self, limit: int | None, first: int = 1, multiple: int = 1) -> None:
        self._limit = limit
        self._multiple = 1 if limit else max(multiple, 1)
        self._steps = limit or max(first, self._multiple)

    def steps(self, left: int | None, callback_limit: int | None) -> int:
        """Returns the number of steps of the next program."""
        limits = [limit for limit in (left, callback_limit) if limit is not None]
        whole = max(self._steps // self._multiple, 1) * self._multiple
        return max(1, min([whole, *limits]))

    def learn(self, steps: int, seconds: float) -> None:
        """Learns from the duration of the last program."""
        if self._limit is None:
            per_step = seconds / max(steps, 1)
            self._steps = int(
                min(max(_SECONDS_A_PROGRAM / max(per_step, 1e-7), 1), self._steps * 8)
            )
