"""Messages of the library, with options of the command line where they name arguments of Python."""

from __future__ import annotations

import re

_OPTIONS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"( before loading)?, or pass `custom_objects=\{.*?\}`",
            " in a module, and pass --import MODULE",
        ),
        (r"`compile=False`", "--no-compile"),
        (r"`enable_select_tf_ops=True`", "--select-tf-ops"),
        (r"\bformat=", "--format "),
        (r"`format`", "--format"),
        (r"\bfilepath=", ""),
        (r"`model\.export\(\)`", "`tfkit export`"),
        # No option of a command: what remains is Python.
        (r"Pass `(skip_mismatch|input_signature)=", r"In Python, pass `\1="),
    )
]


def in_options(message: str) -> str:
    """Returns a message in one line: it may have paragraphs. Arguments of Python become options."""
    message = " ".join(message.split())
    for pattern, words in _OPTIONS:
        message = pattern.sub(words, message)
    return message
