"""The command line: `tfkit inspect`, `verify`, `diff`, `convert`, `export`, `serve`, `launch` and others.

`parser.py` has all commands and their arguments. What a command does is `run(args)` in a module of its own,
which is imported when it is used.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tfkit.src.base import later
from tfkit.src.base.quoting import shown
from tfkit.src.files.saving.errors import LoadError, MissingFileError
from tfkit.src.outer.cli.parser import COMMANDS, Command, parse
from tfkit.src.outer.cli.wording import in_options

_FAILED, _MISUSED, _KILLED = 1, 2, 128


def main(argv: Sequence[str] | None = None, begin: Callable[[], None] | None = None) -> int:
    """Runs a command.

    Args:
        argv: the words after `tfkit`; the arguments of the process unless given.
        begin: called before a command that needs TensorFlow; imports the package `tfkit`, if only modules of
            it have been imported.

    Returns:
        The exit code: 0; 1 for a failure, and for a file that is damaged, refused or differs; 2 for a
        command line that is wrong; 128 and the number of a signal that ended it. Errors are printed in one
        line on the standard error stream.
    """
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
    except SystemExit:
        try:
            sys.stdout.flush()  # Help, which is written without an error to an output that nobody reads.
        except BrokenPipeError:
            return _end_unread()
        raise
    command = COMMANDS[args.command]
    with warnings.catch_warnings():
        warnings.showwarning = functools.partial(_warn, args.command)
        return _run(command, args, begin)


def _run(command: Command, args: argparse.Namespace, begin: Callable[[], None] | None) -> int:
    """Runs a command, prints what ends it, and returns the exit code."""
    try:
        if begin is not None and command.needs_tensorflow:
            begin()
        elif begin is not None:
            # NumPy's linear algebra, which no such command uses, would start a thread for each core.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = command.module or f"{__name__}.{args.command}"
        return int(later.load(later.Place(module, "run"))(args))
    except BrokenPipeError:
        return _end_unread()
    except KeyboardInterrupt:
        if args.traceback:
            raise
        _complain(args.command, "interrupted")
        return _KILLED + signal.SIGINT
    except Exception as error:
        if args.traceback:
            raise
        plain = isinstance(error, (ImportError, OSError, RuntimeError, TypeError, ValueError))
        text = in_options(str(error))
        _complain(args.command, text if plain and text else f"{type(error).__name__}: {text}")
        return _MISUSED if _is_misuse(error) else _FAILED


def _end_unread() -> int:
    """Returns the exit code after what reads the output, such as `head`, has ended: it needs no message."""
    # Python would write the rest when it exits.
    with contextlib.suppress(OSError):  # Not every stream has a file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _KILLED + signal.SIGPIPE


def _warn(command: str, message: Warning | str, category: type[Warning], *where: Any) -> None:
    _complain(command, f"{category.__name__}: {in_options(str(message))}")


def _complain(command: str, text: str) -> None:
    print(f"tfkit {command}: {shown(text, 4_000)}", file=sys.stderr)


def _is_misuse(error: Exception) -> bool:
    """Whether the command line is wrong: a value, a file that does not exist, a target that does."""
    if isinstance(error, LoadError):  # A `ValueError` about what is in a file.
        return isinstance(error, MissingFileError)
    wrong = ValueError, FileNotFoundError, FileExistsError, NotADirectoryError
    return isinstance(error, wrong)
