"""Models for the commands that make them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tfkit.src.training.models.loading import load_model
from tfkit.src.training.models.model import Model


def load(args: argparse.Namespace, compile: bool = False) -> Model:
    """Returns the model of `args.source`. Of Python modules, only those that the user names are imported.

    Raises:
        ValueError: for a module that does not exist.
        RuntimeError: for a module whose import fails.
    """
    with _importable_from_here() if args.modules else contextlib.nullcontext():
        for name in args.modules:
            _import(name)
    return load_model(args.source, compile=compile)


def check_target(path: Path, overwrite: bool) -> None:
    """Raises an error for a target that exists, unless it may be replaced, before anything takes time."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Pass --overwrite to replace it.")


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Not of a module that it imports itself.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"--import {name}: there is no module {error.name!r}.") from error
        raise _failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> RuntimeError:
    return RuntimeError(f"--import {name}: its import raised {type(error).__name__}: {error}")


@contextlib.contextmanager
def _importable_from_here() -> Iterator[None]:
    # First in the path, where Python has the folder of a script.
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())
