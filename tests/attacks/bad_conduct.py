"""What the guards are there for: each case does something that must not pass unseen."""

import contextlib
import ctypes
import os
import pickle
import socket
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

import tfkit
from tests.attacks.harness import Case
from tests.attacks.payloads import Pickled

_kept: list[Any] = []


def _other_file(folder: Path) -> str:
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = np.zeros(3)
    return str(folder / "other.h5")


def cases() -> dict[str, Case]:
    """Things that no model file may cause; each raises a `ValueError`, as a good refusal does."""
    deeds = {
        "exec": lambda _: exec("1 + 1"),
        "compile": lambda _: compile("1", "x", "eval"),
        "import": lambda _: __import__("this"),
        "system": lambda _: os.system("true"),
        "process": lambda _: subprocess.run(["true"], check=False),
        "pickle": lambda folder: pickle.loads(pickle.dumps(Pickled())),
        "open": lambda folder: open(folder / "b", "w").close(),
        "canary": lambda _: Path(os.environ["TFKIT_CANARY"]).read_text(),
        "canary_in_c": lambda _: tf.io.read_file(os.environ["TFKIT_CANARY"]),
        "hdf5_in_c": lambda folder: h5py.File(folder / "other.h5", "r").close(),
        "socket": lambda _: socket.create_connection(("127.0.0.1", int(os.environ["TFKIT_PORT"]))),
        "library": lambda _: ctypes.CDLL("libc.so.6"),
        "memory": lambda _: np.ones(30 << 20).sum(),
        "memory_kept": lambda _: _kept.append(np.ones(30 << 20)),
        "setting": lambda _: tfkit.config.set_epsilon(1e-3),
        "success": lambda _: None,
    }

    def refused(deed: Any) -> Any:
        def attempt(folder: Path) -> None:
            with contextlib.suppress(RuntimeError):
                deed(folder)
            if deed is not deeds["success"]:
                raise ValueError("A long and clear message that means nothing.")

        return attempt

    def prepare(folder: Path) -> Path:
        _other_file(folder)
        return folder

    return {name: Case(prepare, refused(deed)) for name, deed in deeds.items()}


def warm_up(folder: Path) -> None:
    """What the deeds load lazily."""
    tf.io.read_file(_other_file(folder))
