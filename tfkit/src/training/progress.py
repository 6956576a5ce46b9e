"""The progress bar: a live line in a terminal or notebook, plain lines elsewhere."""

from __future__ import annotations

import html
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from absl import logging

from tfkit.src.base import notebooks, settings, terminal
from tfkit.src.base.quoting import printable

_DONE, _LEFT = "━", "─"  # Different characters, since colours are not shown everywhere.
_LOG_INTERVAL = 30.0  # Seconds: so that a log shows that a long epoch is still running.
_BOLD, _GREEN, _GREY, _RESET = "\x1b[1m", "\x1b[32m", "\x1b[37m", "\x1b[0m"
_NARROWEST = 6  # Characters of a bar that still shows something.
_SHORTEST = 8  # Characters of a name in a narrow terminal.
_SHORTER = (
    ("sparse_categorical_", ""),
    ("categorical_", ""),
    ("binary_", ""),
    ("accuracy", "acc"),
    ("mean_absolute_error", "mae"),
    ("mean_squared_error", "mse"),
)


# --- The destination of messages -----------------------------------------------------------------


def print_message(message: str, line_break: bool = True) -> None:
    """Writes `message` to standard output, or to `absl.logging` if that was chosen.

    Args:
        message: the text.
        line_break: whether a line break follows it on standard output.
    """
    if not settings.is_interactive_logging_enabled():
        logging.info("%s", message)
        return
    terminal.write(message + "\n" if line_break else message)


# --- The bar -------------------------------------------------------------------------------------


class Progbar:
    """A line that shows the progress of a loop, its duration, and the values that it reports.

    In a terminal the line is redrawn in place, and fits: where it is narrow, the bar and the names of
    values get shorter, and the final line may become several. In a notebook the bar is HTML. In a log
    file or a pipe a line is written every 30 seconds, and the final one, without control characters.

    Args:
        target: total number of steps; `None` if it is not known.
        width: characters of the bar. Default: `20`.
        verbose: `0` writes nothing, `1` the bar, `2` only a line at the end. Default: `1`.
        interval: shortest time between two redraws, in seconds; `0` writes a line at each update, to a
            log file, too. Default: `0.05`.
        stateful_metrics: names of values to show directly; of the others the mean is shown.
        stateless_metrics: the other way round: names of values to show the mean of. At most one
            of the two may be given.
        unit_name: name of a step. Default: `"step"`.

    Raises:
        ValueError: if both `stateful_metrics` and `stateless_metrics` are given.

    Example:
        >>> bar = Progbar(target=2, verbose=0)
        >>> for step in range(2):
        ...     bar.update(step + 1, [("loss", 0.5)])
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        stateless_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError(
                "Pass at most one of `stateful_metrics` and `stateless_metrics`. Received: "
                f"stateful_metrics={stateful_metrics}, stateless_metrics={stateless_metrics}"
            )
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.unit_name = unit_name
        self.stateful_metrics = None if stateful_metrics is None else set(stateful_metrics)
        self.stateless_metrics = None if stateless_metrics is None else set(stateless_metrics)

        in_terminal = bool(getattr(sys.stdout, "isatty", lambda: False)())
        in_notebook = "ipykernel" in type(sys.stdout).__module__
        self._live = settings.is_interactive_logging_enabled() and (
            in_terminal or in_notebook or "PYCHARM_HOSTED" in os.environ
        )
        self._in_terminal = in_terminal
        self._colored = in_terminal and os.environ.get("TERM") != "dumb"
        self._seen = 0
        self._values: dict[str, tuple[float, int]] = {}  # name -> (sum, count)
        self._start = time.time()
        self._first_update: tuple[int, float] | None = None  # (steps, time)
        self._last_drawn = float("-inf") if self._live or not interval else self._start
        self._last_width = 0
        self._display: Any = notebooks.display() if in_notebook and self._live else None
        self._handle: Any = None  # of what is displayed

    def due(self) -> bool:
        """Whether an `update` now would redraw the line, so that values must be fetched."""
        interval = self.interval
        if interval and not self._live:
            interval = max(interval, _LOG_INTERVAL)
        return self.verbose == 1 and time.time() - self._last_drawn >= interval

    def update(
        self,
        current: int,
        values: Iterable[tuple[str, Any]] | None = None,
        finalize: bool | None = None,
    ) -> None:
        """Shows that `current` steps are done.

        Args:
            current: number of steps done.
            values: pairs of a name and the value of the steps since the last update.
            finalize: whether this is the last update; unless given, whether the target is reached.
        """
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        for name, value in values or ():
            self._record(name, float(np.mean(value)), current - self._seen, finalize)
        self._seen = current

        now = time.time()
        seconds_per_step = self._seconds_per_step(current, now)
        if self.verbose == 1 and (finalize or self.due()):
            self._draw(current, now, seconds_per_step, finalize)
        elif self.verbose == 2 and finalize and self.target:
            print_message(
                f"{self._count(current)}- {now - self._start:.0f}s - "
                f"{self._step_time(seconds_per_step)}{''.join(self._shown_values())}"
            )

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Shows that `n` more steps are done."""
        self.update(self._seen + n, values)

    def _record(self, name: str, value: float, steps: int, finalize: bool) -> None:
        if self.stateless_metrics is not None:
            averaged = name in self.stateless_metrics
        else:
            averaged = name not in (self.stateful_metrics or ())
        if not averaged or finalize:
            self._values[name] = (value, 1)
        else:
            steps = max(steps, 1)
            total, count = self._values.get(name, (0.0, 0))
            self._values[name] = (total + value * steps, count + steps)

    def _seconds_per_step(self, current: int, now: float) -> float:
        """Returns the mean time of a step after the first update, which includes compilation."""
        if not current:
            return 0.0
        if self._first_update is None:
            self._first_update = (current, now)
        first, first_time = self._first_update
        if current > first:
            return (now - first_time) / (current - first)
        return (now - self._start) / current

    def _draw(self, current: int, now: float, seconds_per_step: float, finalize: bool) -> None:
        if self.target and not finalize:
            clock = _clock(seconds_per_step * (self.target - current))
        else:
            clock = f"{now - self._start:.0f}s"
        step_time = f" {self._step_time(seconds_per_step)}"
        self._last_drawn = now
        if self._display is not None:
            self._show(current, clock + step_time + "".join(self._shown_values()))
            return
        lines = self._lines(current, clock, step_time, finalize)
        if self._live:
            line, width = lines[0]
            lines[0] = "\r" + line + " " * (self._last_width - width), width
        print_message("\n".join(line for line, _ in lines), finalize or not self._live)
        self._last_width = lines[-1][1]

    def _show(self, current: int, text: str) -> None:
        """Draws the bar in a notebook: in HTML, and as text where HTML is not shown."""
        count = self._count(current)
        share = f' value="{current}" max="{self.target}"' if self.target else ""
        shown = {
            "text/plain": f"{count}{text}",
            "text/html": f'<div style="font-family: monospace">{count}<progress{share}></progress> '
            f"{html.escape(text)}</div>",
        }
        if self._handle is None:
            self._handle = self._display.display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def _lines(
        self, current: int, clock: str, step_time: str, finalize: bool
    ) -> list[tuple[str, int]]:
        """Returns lines and their visible widths: one, or several at the end in a terminal that is narrow.

        A line that the terminal wraps could not be redrawn.
        """
        # The last column stays empty: some terminals wrap when it is filled.
        room = shutil.get_terminal_size().columns - 1 if self._in_terminal else None
        count, values = self._count(current), self._shown_values()
        bar = self.width if self.target else 0
        if room is not None:
            least = min(bar, _NARROWEST)
            steps = ((None, least), (99, least), (99, 0), (99, None), (_SHORTEST, None))
            for longest, needed in steps:  # `None`: without the time of a step.
                values = self._shown_values(longest)
                step_time = "" if needed is None else step_time
                left = room - sum(map(_columns, (count, clock, step_time, *values)))
                if left >= (needed + 1 if needed else 0):
                    break
            # A space follows the bar.
            bar = min(bar, left - 1) if left > least else 0
        pieces = [(count, _BOLD), *self._bar(current, bar), (clock, _BOLD), (step_time, "")]
        lines = []
        for value in values:
            used = sum(_columns(text) for text, _ in pieces)
            if room is not None and pieces and used + _columns(value) > room:
                if not finalize:
                    break
                lines.append(self._compose(pieces, room))
                pieces, value = [], f"  {value.removeprefix(' - ')}"
            pieces.append((value, ""))
        return [*lines, self._compose(pieces, room)]

    def _bar(self, current: int, width: int) -> list[tuple[str, str]]:
        if not width or not self.target:
            return []
        done = int(width * min(current / self.target, 1.0))
        return [(_DONE * done, _GREEN), (_LEFT * (width - done), _GREY), (" ", "")]

    def _compose(self, pieces: list[tuple[str, str]], room: int | None) -> tuple[str, int]:
        """Returns the line of text, cut to `room` visible characters, and its length."""
        line, width = "", 0
        for text, style in pieces:
            text = text if room is None else text[: max(room - width, 0)]
            width += _columns(text)
            line += f"{style}{text}{_RESET}" if text and style and self._colored else text
        return line, width

    def _count(self, current: int) -> str:
        if not self.target:
            return f"{current:7d}/Unknown "
        return f"{current:{len(str(self.target))}d}/{self.target} "

    def _step_time(self, seconds: float) -> str:
        if seconds >= 1 or seconds == 0:
            return f"{seconds:.0f}s/{self.unit_name}"
        if seconds >= 1e-3:
            return f"{seconds * 1e3:.0f}ms/{self.unit_name}"
        return f"{seconds * 1e6:.0f}us/{self.unit_name}"

    def _shown_values(self, longest: int | None = None) -> list[str]:
        """Returns names and values; the names are complete unless a length is given."""
        shown = []
        for key, (total, count) in self._values.items():
            name, mean = printable(key), total / count  # A name may come from a file.
            if longest is not None:
                name = _shorter(name, longest)
            shown.append(f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}")
        return shown


def _shorter(name: str, longest: int) -> str:
    """Returns a name with shorter words, and without its middle if it is still too long."""
    for word, short in _SHORTER:
        name = name.replace(word, short)
    if len(name) <= longest:
        return name
    return f"{name[: longest // 2 - 1]}…{name[-longest // 2 :]}"


def _columns(text: str) -> int:
    """Returns how many columns of a terminal a text fills."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def _clock(seconds: float) -> str:
    """Returns seconds as `42s`, `3:07` or `1:02:09`."""
    whole = int(seconds)
    if whole > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    if whole > 60:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole}s"
