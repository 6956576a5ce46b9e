"""Models of subclasses, loaded where only their classes are known: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import tfkit
from tests.saving import new_process_models as models

ROOT = Path(__file__).parents[2]

CODE = """
import sys
import numpy as np
import tfkit
from tests.saving import new_process_models as models

assert not any(isinstance(value, tfkit.Model) for value in vars(models).values())
for path, cls in zip(sys.argv[1:], models.CLASSES, strict=True):
    model = tfkit.saving.load_model(path)
    assert type(model) is cls, model
    np.save(path + ".npy", model.predict(models.X, verbose=0))
    np.save(path + ".weights.npy", np.concatenate([w.ravel() for w in model.get_weights()]))
"""


def test_models_are_equal_in_a_new_process(tmp_path):
    paths, expected = [], []
    for cls in models.CLASSES:
        assert not {"build", "get_config", "from_config"} & set(vars(cls))
        model = cls(3)
        model.compile("adam", "mse", jit_compile=False)  # Four models compile in less time.
        model.fit(models.X, np.ones((len(models.X), 3)), verbose=0)
        paths.append(str(tmp_path / f"{cls.__name__}.h5"))
        model.save(paths[-1])
        weights = np.concatenate([weight.ravel() for weight in model.get_weights()])
        expected.append((model.predict(models.X, verbose=0), weights))
    done = subprocess.run(
        [sys.executable, "-c", CODE, *paths],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for path, (outputs, weights) in zip(paths, expected, strict=True):
        np.testing.assert_array_equal(np.load(path + ".weights.npy"), weights)
        np.testing.assert_array_equal(np.load(path + ".npy"), outputs)


def test_what_is_recorded_is_enough():
    """The arguments of the constructors, kept without a `get_config`, make the same layers."""
    model = models.OfParts(5)
    assert model.get_config()["units"] == 5
    again = tfkit.models.model_from_json(model.to_json())
    assert again.head.units == 5
    assert again.block.first.units == model.block.first.units == 10
