"""The C library runner, in child processes where `import tensorflow` fails."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tfkit.src.export import c_api
from tfkit.src.export.c_api import command

RUNNER = Path(c_api.__file__).parent

# Runs the folder as a program where Python can import neither tensorflow nor tfkit.
WITHOUT_TENSORFLOW = """
import builtins, runpy, sys
real_import = builtins.__import__
def checked_import(name, *args, **kwargs):
    assert name.partition(".")[0] not in ("tensorflow", "tfkit", "keras"), f"imports {name}"
    return real_import(name, *args, **kwargs)
builtins.__import__ = checked_import
sys.modules["tensorflow"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Programs(tf.Module):
    """One signature for each kind of tensor, on a variable and a table."""

    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        self.words = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["one", "two"], tf.constant([1, 2], tf.int64)), -1
        )

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def project(self, x):
        return {"file": x @ self.kernel, "positive": x > 0}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.int32, name="ids"),
            tf.TensorSpec([None], tf.bool, name="keep"),
            tf.TensorSpec([], tf.int32, name="signature"),
        ]
    )
    def count(self, ids, keep, offset):
        total = tf.reduce_sum(ids, axis=1) + offset
        return {"total": tf.where(keep, total, 0), "not_keep": ~keep}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string, name="text")])
    def read(self, text):
        return {
            "same": text,
            "upper": tf.strings.upper(text) + b"\xff",
            "number": self.words.lookup(text),
        }

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="length")])
    def zeros(self, length):
        return {"text": tf.strings.join([tf.strings.as_string(length), b"\0"])}


@pytest.fixture(scope="module")
def programs():
    return Programs()


@pytest.fixture(scope="module")
def model_dir(programs, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    signatures = {
        "serving_default": programs.project,
        **{name: getattr(programs, name) for name in ("count", "read", "zeros")},
    }
    tf.saved_model.save(programs, path, signatures=signatures)
    return path


@pytest.fixture(scope="module")
def model(model_dir):
    with c_api.SavedModel(model_dir) as model:
        yield model


def run_alone(*arguments):
    command = [sys.executable, "-I", "-c", WITHOUT_TENSORFLOW, RUNNER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_command_line_without_python_tensorflow(model_dir, programs, tmp_path):
    x = np.random.normal(size=(7, 3)).astype("float32")
    np.savez(tmp_path / "in.npz", x=x)
    files = ["--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"]
    done = run_alone(model_dir, *files)
    assert done.returncode == 0, done.stderr
    expected = programs.project(x)
    with np.load(tmp_path / "out.npz") as outputs:
        assert sorted(outputs.files) == ["file", "positive"]
        np.testing.assert_array_equal(outputs["file"], expected["file"])
        np.testing.assert_array_equal(outputs["positive"], expected["positive"])

    np.savez(tmp_path / "in.npz", text=np.array([["one", "tw\u00f6"]]))
    done = run_alone(model_dir, "--signature", "read", *files)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as outputs:
        assert outputs["same"].tolist() == [[b"one", "tw\u00f6".encode()]]
        assert outputs["number"].tolist() == [[1, -1]]


def test_command_line_lists_signatures(model_dir):
    done = run_alone(model_dir, "--list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "count",
        "  inputs   ids: int32 (None, 2), keep: bool (None,), signature: int32 ()",
        "  outputs  not_keep: bool (None,), total: int32 (None,)",
        "read",
        "  inputs   text: string None",
        "  outputs  number: int64 None, same: string None, upper: string None",
        "serving_default",
        "  inputs   x: float32 (None, 3)",
        "  outputs  file: float32 (None, 2), positive: bool (None, 3)",
        "zeros",
        "  inputs   length: int32 ()",
        "  outputs  text: string ()",
    ]


def test_command_line_never_drops_a_zero_byte(model_dir, tmp_path):
    np.savez(tmp_path / "in.npz", length=np.int32(3))
    done = run_alone(
        *(model_dir, "--signature", "zeros", "--inputs", tmp_path / "in.npz"),
        *("--outputs", tmp_path / "out.npz"),
    )
    assert done.returncode == 1
    assert "Output 'text' has a string that ends in a zero byte" in done.stderr
    assert not (tmp_path / "out.npz").exists()


def test_command_line_error_is_one_line(tmp_path):
    done = run_alone(tmp_path / "nothing", "--list")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: Could not find SavedModel")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_unknown_batch(model, programs, batch):
    x = np.random.normal(size=(batch, 3)).astype("float32")
    outputs = model.run("serving_default", x=x[:, ::-1])
    expected = programs.project(x[:, ::-1])
    assert outputs["file"].dtype == np.float32
    np.testing.assert_array_equal(outputs["file"], expected["file"])
    np.testing.assert_array_equal(outputs["positive"], expected["positive"])


def test_integers_booleans_and_scalars(model):
    ids = np.array([[1, 2], [3, 4]], "int32")
    inputs = {"ids": ids, "keep": np.array([True, False]), "signature": np.int32(10)}
    outputs = model.run("count", **inputs)
    assert outputs["total"].tolist() == [13, 0]
    assert outputs["total"].dtype == np.int32
    assert outputs["not_keep"].tolist() == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        b"one",
        ["one", "two", "three"],
        [[b"\x00zero\x00", b""], [b"x" * 100, "\u00e9"]],
        np.empty((0, 3), object),
    ],
)
def test_strings(model, text):
    encoded = np.vectorize(
        lambda item: item.encode() if isinstance(item, str) else item, otypes=[object]
    )(np.array(text, object))
    outputs = model.run("read", text=np.array(text, object))
    assert outputs["same"].shape == np.shape(text)
    assert outputs["same"].tolist() == encoded.tolist()
    expected = np.vectorize(lambda item: item.upper() + b"\xff", otypes=[object])(encoded)
    assert outputs["upper"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "dtype",
    ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int16"]
    + ["int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"],
)
def test_every_numeric_dtype(dtype, tmp_path):
    module = tf.Module()
    spec = tf.TensorSpec([None], dtype, name="x")
    module.same = tf.function(lambda x: {"y": tf.reverse(x, [0])}, input_signature=[spec])
    tf.saved_model.save(module, tmp_path, signatures=module.same)
    x = np.array([0, 1, 3]).astype(tf.as_dtype(dtype).as_numpy_dtype)
    with c_api.SavedModel(tmp_path) as model:
        assert model.signatures["serving_default"].inputs["x"].dtype == dtype
        y = model.run(x=x)["y"]
    assert y.dtype == x.dtype
    assert y.tolist() == x[::-1].tolist()


def test_bfloat16_on_the_command_line(tmp_path):
    module = tf.Module()
    spec = tf.TensorSpec([None], tf.bfloat16, name="x")
    module.double = tf.function(lambda x: {"y": tf.cast(x + x, tf.float32)}, input_signature=[spec])
    tf.saved_model.save(module, tmp_path / "model", signatures=module.double)
    np.savez(tmp_path / "in.npz", x=np.array([1.5, -2.0]).astype(tf.bfloat16.as_numpy_dtype))
    files = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
    command.main([str(tmp_path / "model"), *files])
    with np.load(tmp_path / "out.npz") as outputs:
        assert outputs["y"].tolist() == [3.0, -4.0]


@pytest.mark.parametrize(
    ("signature", "inputs", "message"),
    [
        (
            "absent",
            {},
            r"'read', 'serving_default', 'zeros'\]. Received: 'absent'",
        ),
        ("serving_default", {}, r"takes the inputs \['x'\]. Received: \[\]"),
        ("serving_default", {"z": 1}, r"takes the inputs \['x'\]. Received: \['z'\]"),
        ("serving_default", {"x": np.ones((1, 3))}, "expects dtype float32.*Received: float64"),
        ("serving_default", {"x": [["a"]]}, "expects dtype float32.*Received: <U1"),
        ("serving_default", {"x": np.ones((1, 2), "float32")}, r"shape \(None, 3\).*\(1, 2\)"),
        ("serving_default", {"x": np.ones(3, "float32")}, r"shape \(None, 3\).*\(3,\)"),
        ("read", {"text": np.array([1, "a"], object)}, "element of type int"),
        ("read", {"text": [1]}, "expects dtype string.*Received: int64"),
    ],
)
def test_inputs_that_do_not_fit(model, signature, inputs, message):
    with pytest.raises(ValueError, match=message):
        model.run(signature, **inputs)


def test_errors_of_tensorflow_are_raised(tmp_path):
    with pytest.raises(RuntimeError, match="SavedModel"):
        c_api.SavedModel(tmp_path)
    module = tf.Module()
    spec = tf.TensorSpec([None], tf.int32, name="x")
    module.third = tf.function(lambda x: {"y": x[2]}, input_signature=[spec])
    tf.saved_model.save(module, tmp_path, signatures=module.third)
    with pytest.raises(RuntimeError, match="train"):
        c_api.SavedModel(tmp_path, tags=["train"])
    with c_api.SavedModel(tmp_path) as model:
        with pytest.raises(RuntimeError, match="slice index 2"):
            model.run(x=np.arange(2, dtype="int32"))
        assert model.run(x=np.arange(3, dtype="int32"))["y"] == 2  # an error does no lasting harm


def test_close(model_dir):
    model = c_api.SavedModel(model_dir, library=c_api.find_library())
    model.close()
    model.close()
    with pytest.raises(RuntimeError, match="is closed"):
        model.run("serving_default", x=np.ones((1, 3), "float32"))


def test_library_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="libtensorflow_cc"):
        c_api.SavedModel(tmp_path, library=tmp_path)


def test_runs_do_not_grow(model):
    """Strings and tensors are given back after each run."""
    text = np.array([b"x" * 5_000_000], object)
    peaks = []
    for _ in range(3):
        for _ in range(20):
            model.run("read", text=text)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[2] < 1.05 * peaks[1]
