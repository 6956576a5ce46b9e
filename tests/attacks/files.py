"""Each damaged file through each entry point that reads files."""

import contextlib
import functools
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfkit
from tests.attacks import damage
from tests.attacks.harness import Case, Refused
from tfkit.src.files.saving import checkpoint_file
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.outer import cli
from tfkit.src.outer.cli import convert, diff, inspect, verify  # noqa: F401, before files are watched


@functools.cache
def model() -> Any:
    """A model that has been trained, made once; the weights must stay what they are."""
    made = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="d")])
    made.compile("adam", "mse")
    made.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    return made


@functools.cache
def _bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        model().save(Path(folder, "model.h5"))
        return Path(folder, "model.h5").read_bytes()


def saved(path: Path) -> Path:
    path.write_bytes(_bytes())
    return path


# --- Entry points --------------------


def load_weights(path: Path, **options: Any) -> None:
    """Loads into a model, whose weights must not change when that fails."""
    before = [variable.numpy() for variable in model().variables]
    try:
        model().load_weights(path, **options)
    finally:
        for variable, value in zip(model().variables, before, strict=True):
            assert np.array_equal(variable, value), "a weight has changed"


def resume(path: Path) -> None:
    """Reads the state of a training, as `fit(resume=...)` does; a model's file holds none."""
    try:
        checkpoint_file.read(path)
    except LoadError as error:
        if "does not contain the state of a training" not in str(error) or path.name != "model.h5":
            raise


def command(*words: Any) -> None:
    """Runs the command line program; an exit code is an error with what it said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = cli.main([str(word) for word in words])
    lines = said.getvalue().strip().splitlines()
    if code:
        assert len(lines) == 1, lines
        raise Refused(lines[0])
    assert not lines, lines


WEIGHTS: dict[str, Callable[[Path], Any]] = {
    "load_weights": load_weights,
    "load_weights.skip": lambda path: load_weights(path, skip_mismatch=True),
    "load_weights.by_name": lambda path: load_weights(path, by_name=True),
    "load_weights.rename": lambda path: load_weights(path, rename=lambda name: name),
}
MODELS: dict[str, Callable[[Path], Any]] = {
    "load_model": tfkit.saving.load_model,
    "load_model.text": lambda path: tfkit.models.load_model(str(path), compile=False),
    "cli.convert": lambda path: command("convert", path, path.with_name("out.h5")),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "cli.inspect": lambda path: command("inspect", path),
    "cli.verify": lambda path: command("verify", path),
    "cli.diff": lambda path: command("diff", path, path),
}


# `inspect` shows what is there, and reads no values; `resume` reads none of a model's weights.
NOT_FOR_INSPECT = {"s12_dataset_for_group", "s12_wrong_checksum"}


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on."""
    for use in (*WEIGHTS.values(), *MODELS.values(), *READERS.values()):
        use(saved(folder / "model.h5"))


def _case(name: str, use: Callable[[Path], Any], harmless: bool = False) -> Case:
    def prepare(folder: Path) -> Path:
        return damage.apply(name, saved(folder / "model.h5"))

    return Case(prepare, use, "model.h5", harmless)


def cases() -> dict[str, Case]:
    """Each attack through each entry point that reads what it is about."""
    found = {}
    for name in damage.ATTACKS:
        about_config = name in damage.ABOUT_THE_CONFIG
        for entry, use in MODELS.items():
            found[f"{name}-{entry}"] = _case(name, use)
        for entry, use in () if about_config else WEIGHTS.items():
            found[f"{name}-{entry}"] = _case(name, use)
        if not about_config:
            found[f"{name}-fit.resume"] = _case(name, resume, name in NOT_FOR_INSPECT)
        for entry, use in READERS.items():
            harmless = about_config or (name in NOT_FOR_INSPECT and entry == "cli.inspect")
            found[f"{name}-{entry}"] = _case(name, use, harmless)
    return found
