"""Writes text to standard output, whatever characters it supports."""

from __future__ import annotations

import sys

from tfkit.src.base.quoting import printable

# The bars of a progress bar and its shortened names on terminals that lack such characters.
_SIMILAR = str.maketrans("━─…", "=-.")


def write(text: str) -> None:
    """Writes a string to standard output, if there is one; characters that it lacks are escaped.

    A process without a console, such as one of `pythonw` or a service, has no standard output.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "utf-8"
        plain = text.translate(_SIMILAR).encode(encoding, errors="backslashreplace")
        sys.stdout.write(plain.decode(encoding))
    sys.stdout.flush()


def say(text: str) -> None:
    """Writes lines to standard output, with control characters escaped: names may come from a file."""
    write("".join(f"{printable(line)}\n" for line in text.split("\n")))
