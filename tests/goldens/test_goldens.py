"""Files that earlier versions wrote: they load for ever, with exactly these values."""

from pathlib import Path

import numpy as np
import pytest

import tfkit
from tests.goldens.make import build, numbers, state_of

FOLDERS = sorted(
    path for path in Path(__file__).parent.iterdir() if path.name.startswith("version_")
)


def check_values(state):
    for path, variable in state.items():
        np.testing.assert_array_equal(
            np.asarray(variable).astype("float64"), numbers(path, variable.shape), err_msg=path
        )


@pytest.fixture
def blank():
    """The model with other values."""
    model = build()
    for variable in state_of(model).values():
        variable.assign(variable * 0 - 1 if variable.dtype.name[0] != "u" else variable * 0)
    return model


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_whole_models(folder):
    model = tfkit.models.load_model(folder / "model.h5")
    state = state_of(model)
    check_values(state)
    groups = {path.split("/")[0] for path in state}
    assert groups == {"weights", "optimizer", "metrics"}
    assert len(state) == len(state_of(build()))
    assert type(model.optimizer) is tfkit.optimizers.Adam
    assert model.loss == "mse"


@pytest.mark.parametrize("name", ["model.weights.h5", "model.weights.json", "model.h5"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_weights(folder, name, blank):
    report = blank.load_weights(folder / name)
    state = {path: v for path, v in state_of(blank).items() if path.startswith("weights/")}
    check_values(state)
    assert {f"weights/{path}" for path in report.loaded} == set(state)


def test_they_are_small():
    assert FOLDERS
    for path in (path for folder in FOLDERS for path in folder.iterdir()):
        assert path.stat().st_size < 50_000, path
