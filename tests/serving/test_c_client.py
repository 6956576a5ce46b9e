"""The C client: builds against the TensorFlow wheel, and gives what the model gives."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.conftest import X

SOURCE = Path(__file__).resolve().parents[2] / "export" / "client"
DTYPES = [
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
SHAPES = {"scalar": (), "none": (0,), "empty": (2, 0), "cube": (1, 1, 3)}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if shutil.which("gcc") is None or shutil.which("make") is None:
        pytest.skip("there is no gcc or no make")
    folder = tmp_path_factory.mktemp("client")
    for name in ("Makefile", "tfkit_client.c"):
        shutil.copy(SOURCE / name, folder)
    make = ["make", "-s", "CC=gcc", f"PYTHON={sys.executable}"]
    subprocess.run(make, cwd=folder, check=True)
    return folder / "tfkit_client"


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A signature that gives an input of each dtype back, and one of two inputs."""
    folder = tmp_path_factory.mktemp("echo") / "m"

    def double(words, flags):
        return {"joined": tf.strings.join([words, words]), "not": tf.logical_not(flags)}

    def same(**inputs):
        return {f"{name}_out": tf.identity(value) for name, value in inputs.items()}

    strings = tf.TensorSpec([None], tf.string, "words"), tf.TensorSpec([None], tf.bool, "flags")
    specs = {dtype: tf.TensorSpec(None, dtype, dtype) for dtype in DTYPES}
    shapes = {name: tf.TensorSpec(None, tf.float32, name) for name in SHAPES}
    signatures = {
        "pair": tf.function(double, input_signature=strings),
        "same": tf.function(same, autograph=False).get_concrete_function(**specs),
        "shapes": tf.function(same, autograph=False).get_concrete_function(**shapes),
    }
    tf.saved_model.save(tf.Module(), str(folder), signatures=signatures)
    return folder


def run(program, *arguments, stdin=None):
    return subprocess.run(
        [program, *map(str, arguments)], input=stdin, capture_output=True, text=True, check=False
    )


def answer(program, *arguments, stdin=None):
    result = run(program, *arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_lists_and_files_give_what_the_model_gives(program, base, model, tmp_path):
    folder, expected = base / "small" / "3", model(X).numpy()
    found = answer(program, folder, "--input", f"x={json.dumps(X.tolist())}")
    np.testing.assert_allclose(next(iter(found.values())), expected, rtol=1e-6)
    np.save(tmp_path / "x.npy", X)
    result = run(
        program,
        folder,
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--output-dir",
        tmp_path,
        "--repeat",
        20,
    )
    assert (result.returncode, result.stdout) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / f"{next(iter(found))}.npy"), expected, rtol=1e-6)
    assert re.search(
        r"20 runs, microseconds each: p50 \d+\.\d p90 \d+\.\d p99 \d+\.\d p100 \d+\.\d\n",
        result.stderr,
    )


def test_strings_and_truth_values_from_the_standard_input(program, echo):
    arguments = [echo, "--signature", "pair", "--input", "words=-", "--input", "flags=[true,false]"]
    found = answer(program, *arguments, stdin=' ["a\\n\\"é", ""]\n')
    assert found == {"joined": ['a\n"éa\n"é', ""], "not": [False, True]}


def limits(dtype):
    info = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    return np.array([[info.max], [info.min], [1]], dtype)


def both_ways(program, folder, signature, arrays, tmp_path):
    """Inputs as lists and as files; outputs as lists and as files."""
    lists = [f"--input={name}={json.dumps(array.tolist())}" for name, array in arrays.items()]
    found = answer(program, folder, "--signature", signature, *split(lists))
    files = []
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        files.append(f"--input={name}={tmp_path / name}.npy")
    arguments = [folder, "--signature", signature, "--output-dir", tmp_path, *split(files)]
    assert run(program, *arguments).returncode == 0
    for name, array in arrays.items():
        listed = np.array(found[f"{name}_out"], array.dtype)
        np.testing.assert_array_equal(listed, array, strict=True)
        loaded = np.load(tmp_path / f"{name}_out.npy")
        np.testing.assert_array_equal(loaded, array, strict=True)


def split(arguments):
    return [word for argument in arguments for word in argument.split("=", 1)]


def test_all_dtypes_and_shapes(program, echo, tmp_path):
    numbers = {dtype: limits(dtype) for dtype in DTYPES}
    both_ways(program, echo, "same", numbers, tmp_path)
    shapes = {name: np.ones(shape, "float32") for name, shape in SHAPES.items()}
    both_ways(program, echo, "shapes", shapes, tmp_path)
    special = np.float32([np.nan, np.inf, -np.inf, 1e-30])
    shapes["cube"] = special.reshape(1, 2, 2)
    lists = [f"--input={name}={json.dumps(array.tolist())}" for name, array in shapes.items()]
    found = answer(program, echo, "--signature", "shapes", *split(lists))
    np.testing.assert_array_equal(np.float32(found["cube_out"]), shapes["cube"])


def test_signatures_are_listed(program, base):
    listed = run(program, base / "small" / "3", "--list").stdout
    assert "serving_default\n  input x: float32 ? 3\n" in listed
    assert "spell\n  input words: string ?\n" in listed


def test_what_is_wrong_is_said(program, base, echo, tmp_path):
    np.save(tmp_path / "double.npy", X.astype("float64"))
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "double.npy").read_bytes()[:100])
    small, pair = [base / "small" / "3"], [echo, "--signature", "pair", "--input", 'words=["a"]']
    total = [*small, "--signature", "total", "--input"]
    cases = [
        ([], "usage: tfkit_client MODEL"),
        ([tmp_path / "none", "--list"], "Could not find SavedModel"),
        ([*small, "--verbose"], "unknown argument, or one without value: --verbose"),
        ([*small, "--signature", "no"], "unknown signature 'no'. Signatures of the model:"),
        ([*small, "--input", "y=1"], "unknown input 'y'. Inputs of 'serving_default': x"),
        (small, "input 'x' is missing: --input x=..."),
        ([*small, "--input", "x=[[1, 2]]"], "input 'x' expects shape -1 3. Received: 1 2"),
        ([*small, "--input", "x=[[1, 2, 3], [1]]"], "'x': lists of the same level"),
        ([*small, "--input", "x=[[1 2]]"], "'x': expected , or ]. Received: 2]]"),
        ([*small, "--input", "x=[[1]] 2"], "'x': expected the end. Received: 2"),
        ([*small, "--input", "x=" + "[" * 40], "'x' has more than 32 dimensions"),
        ([*small, "--input", f"x={tmp_path}/none.npy"], "none.npy: No such file"),
        ([*small, "--input", f"x={tmp_path}/cut.npy"], "cut.npy is cut off"),
        ([*small, "--input", f"x={tmp_path}/double.npy"], "'x' expects dtype float32. Received: "),
        ([*small, "--input", f"x={tmp_path}/columns.npy"], "columns.npy is in Fortran order"),
        ([*total, "numbers=[1.5]"], "'numbers' takes numbers of int32. Received: 1.5]"),
        ([*total, "numbers=[2147483648]"], "'numbers' takes numbers of int32"),
        ([*pair, "--input", "flags=[1]"], "'flags' takes values of bool. Received: 1]"),
        ([*pair, "--input", 'words=["a'], "'flags' is missing"),
    ]
    with_signature = [*small, "--signature", "positive", "--input", "numbers=[0]"]
    for arguments, message in [*cases, (with_signature, "assertion failed")]:
        result = run(program, *arguments)
        assert (result.returncode, result.stdout) == (1, ""), arguments
        assert message in result.stderr, arguments


def test_a_damaged_model_is_refused_with_the_message_of_tensorflow(program, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"?" * 1000)
    result = run(program, tmp_path, "--list")
    assert result.returncode == 1
    assert "tfkit_client: Can't parse" in result.stderr
