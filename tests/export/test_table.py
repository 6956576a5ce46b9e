"""All kinds of models, exported without arguments and run where there is no tfkit and no TensorFlow."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from tests.export.models import MODELS, ROWS
from tfkit.src.export import c_api
from tfkit.src.export.verification import run_elsewhere

BATCHES = (ROWS, 1, 0)
FREE = {"masked_lstm": {"ids"}, "variable_length": {"attention_mask", "token_ids"}}
names = pytest.mark.parametrize("name", [build.__name__ for build in MODELS])


class Exported:
    """One model of the table: what it gives, and what its export gives in another process."""

    def __init__(self, build, folder):
        model, given, self.inputs, self.outputs = build()
        by_name = isinstance(given, dict) and set(given) <= {
            *inspect.signature(model.call).parameters
        }
        self.folder, self.wanted, self.cases = folder, [], []
        for size in BATCHES:
            rows = tf.nest.map_structure(lambda array: array[:size], given)  # noqa: B023
            self.wanted.append(tf.nest.flatten(model(**rows) if by_name else model(rows)))
            flat = tf.nest.flatten(list(rows.values()) if by_name else rows)
            self.cases.append(("serve", dict(zip(self.inputs, flat, strict=True))))
        model.export(folder, verbose=False)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    models = {}
    for build in MODELS:
        np.random.seed(0)
        folder = tmp_path_factory.mktemp("export") / build.__name__
        models[build.__name__] = Exported(build, folder)
    results = run_elsewhere([(each.folder, each.cases) for each in models.values()])
    for each, found in zip(models.values(), results, strict=True):
        each.found = found
    return models


@names
def test_the_c_library_gives_the_outputs_of_the_model(exported, name):
    each = exported[name]
    for size, wanted, found in zip(BATCHES, each.wanted, each.found, strict=True):
        assert not isinstance(found, str), found
        assert found.keys() == each.outputs.keys()
        for (key, dtype), value in zip(each.outputs.items(), wanted, strict=True):
            assert (found[key].dtype == object) if dtype == "string" else found[key].dtype == dtype
            assert found[key].shape == tuple(value.shape), (size, key)
            if dtype == "string":
                np.testing.assert_array_equal(found[key], value.numpy())
            else:
                np.testing.assert_allclose(found[key], value.numpy(), rtol=1e-5, atol=1e-5)


@names
def test_signatures_say_what_the_model_was_called_with(exported, name):
    each = exported[name]
    with c_api.SavedModel(each.folder) as model:
        assert set(model.signatures) == {"serve", "serving_default"}
        signature = model.signatures["serving_default"]
    assert {key: spec.dtype for key, spec in signature.inputs.items()} == each.inputs
    assert {key: spec.dtype for key, spec in signature.outputs.items()} == each.outputs
    assert all(spec.shape[0] is None for spec in signature.inputs.values())
    free = {key for key, spec in signature.inputs.items() if None in spec.shape[1:]}
    assert free == FREE.get(name, set())
