"""Exported models where they are used: TensorFlow's C library and its command line, without tfkit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.guide.vae import vae_class
from tfkit.src.export import c_api

BATCH_SIZES = (1, 7)

# Runs each model of the list on standard input at each batch size, in a process that cannot import
# TensorFlow or tfkit, and writes `<folder>/c_<batch size>.npz`.
RUN_WITH_C_API = """
import json, runpy, sys
import numpy as np
sys.modules["tensorflow"] = sys.modules["tfkit"] = sys.modules["keras"] = None
sys.path.append(sys.argv[1])
SavedModel = runpy.run_module("c_api.saved_model")["SavedModel"]
for folder, name, files in json.load(sys.stdin):
    with SavedModel(folder) as model:
        print(sorted(model.signatures))
        for source, target in files:
            with np.load(source) as inputs:
                outputs = model.run(**{name: inputs[name]})
            np.savez(target, **outputs)
"""

# The same with `saved_model_cli run`: one process runs all, for each start of TensorFlow takes seconds.
RUN_WITH_CLI = """
import json, sys
from tensorflow.python.tools import saved_model_cli
for folder, name, files in json.load(sys.stdin):
    for source, target in files:
        arguments = ["--dir", folder, "--tag_set", "serve", "--signature_def", "serving_default"]
        arguments += ["--inputs", f"{name}={source}[{name}]", "--outdir", target]
        sys.argv = ["saved_model_cli", "run", *arguments]
        try:
            saved_model_cli.main()
        except SystemExit as end:
            assert not end.code
assert "tfkit" not in sys.modules
"""


def decoder():
    """The guide's decoder after a fit of the whole, with an optimizer."""
    vae = vae_class(tfkit)(12, 6, 4)
    images = np.random.uniform(size=(20, 12)).astype("float32")
    vae.compile("adam", "mse", jit_compile=False)
    vae.fit(images, images, batch_size=8, verbose=0)
    latent = tfkit.Input((4,), name="latent")
    model = tfkit.Model(latent, vae.decoder(latent))
    model.compile("adam", "mse", jit_compile=False)
    model.fit(np.ones((5, 4)), np.ones((5, 12)), verbose=0)
    rows = {size: np.random.normal(size=(size, 4)).astype("float32") for size in BATCH_SIZES}
    return model, "latent", rows, "decoder"


class Bag(tfkit.Model):
    """The mean of the vectors of integer ids; its inputs are known from its calls only."""

    def __init__(self):
        super().__init__()
        self.embedding = tfkit.layers.Embedding(17, 3)
        self.dense = tfkit.layers.Dense(2)

    def call(self, ids):
        return self.dense(tf.reduce_mean(self.embedding(ids), axis=1))


def embedding():
    model = Bag()
    ids = np.random.randint(17, size=(20, 5)).astype("int32")
    model.compile("adam", "mse", jit_compile=False)
    model.fit(ids, np.ones((20, 2)), batch_size=8, verbose=0)
    return model, "ids", {size: ids[:size] for size in BATCH_SIZES}, "output_0"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Folder, model, input name, inputs by batch size and output name, of each model."""
    models = {}
    for build in (decoder, embedding):
        model, name, inputs, output = build()
        folder = tmp_path_factory.mktemp(build.__name__)
        model.export(folder / "model")
        for size, rows in inputs.items():
            np.savez(folder / f"in_{size}.npz", **{name: rows})
        models[build.__name__] = folder, model, name, inputs, output
    return models


def run(code, exported, target, *arguments, **environment):
    tasks = [
        [
            str(folder / "model"),
            name,
            [[str(folder / f"in_{size}.npz"), str(folder / target(size))] for size in inputs],
        ]
        for folder, _, name, inputs, _ in exported.values()
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments],
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_c_library_gives_the_outputs_of_the_model(exported):
    printed = run(RUN_WITH_C_API, exported, "c_{}.npz".format, Path(c_api.__file__).parents[1])
    assert printed.splitlines() == ["['serve', 'serving_default']"] * len(exported)
    for folder, model, _, inputs, output in exported.values():
        for size, rows in inputs.items():
            with np.load(folder / f"c_{size}.npz") as outputs:
                assert outputs.files == [output]
                expected = model.predict(rows, verbose=0)
                assert outputs[output].dtype == expected.dtype
                np.testing.assert_allclose(outputs[output], expected, rtol=0, atol=1e-5)


def test_the_command_line_gives_the_outputs_of_the_model(exported):
    run(RUN_WITH_CLI, exported, "cli_{}".format)
    for folder, model, _, inputs, output in exported.values():
        for size, rows in inputs.items():
            found = np.load(folder / f"cli_{size}" / f"{output}.npy")
            expected = model.predict(rows, verbose=0)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_signatures_have_the_names_and_dtypes_of_the_calls(exported):
    for (folder, _, name, inputs, output), dtype in zip(
        exported.values(), ("float32", "int32"), strict=True
    ):
        with c_api.SavedModel(folder / "model") as model:
            signature = model.signatures["serving_default"]
        ((received, spec),) = signature.inputs.items()
        assert (received, spec.dtype, spec.shape) == (name, dtype, (None, inputs[7].shape[1]))
        assert list(signature.outputs) == [output]


@pytest.mark.parametrize(("name", "number"), [("decoder", 4), ("embedding", 3)])
def test_only_the_weights_are_in_the_files(exported, name, number):
    folder, model, *_ = exported[name]
    assert len(model.optimizer.variables) > number
    reader = tf.train.load_checkpoint(str(folder / "model" / "variables" / "variables"))
    shapes = {
        key: shape for key, shape in reader.get_variable_to_shape_map().items() if key[0] != "_"
    }
    assert sorted(shapes.values()) == sorted(w.shape.as_list() for w in model.weights)
    assert len(shapes) == number
