"""`tfkit inspect`, `verify`, `diff`, `convert`."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfkit
from tfkit.src.outer import cli
from tfkit.src.outer.cli import diff

GOLDENS = Path(__file__).parent / "goldens"


class Doubled(tfkit.layers.Layer):
    """A class that a user has not registered."""

    def call(self, x):
        return 2 * x


@pytest.fixture(scope="module")
def model():
    made = tfkit.Sequential(
        [tfkit.Input((3,)), tfkit.layers.Dense(2, name="first"), tfkit.layers.Dense(1)]
    )
    made.compile("adam", "mse", metrics=["mae"])
    made.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    return made


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "m.h5")
    return tmp_path / "m.h5"


@pytest.fixture
def run(capsys):
    """Runs a command; gives the exit code, what it said, and what it complained of."""

    def run(*words):
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


# --- inspect --------------------


def test_inspect_a_model(run, path):
    code, out, err = run("inspect", path)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0] == f"{path}: model, tfkit format 1"
    assert "layers: InputLayer, 2 Dense" in lines
    assert "optimizer: Adam" in lines
    assert "loss: mse" in lines
    assert "metrics: mae" in lines
    start = lines.index("weights/  4 arrays, 44 bytes")
    assert lines[start + 1 :][:6] == [
        "  dense/  2 arrays, 12 bytes",
        "    bias  (1,) float32, 4 bytes",
        "    kernel  (2, 1) float32, 8 bytes",
        "  first/  2 arrays, 32 bytes",
        "    bias  (2,) float32, 8 bytes",
        "    kernel  (3, 2) float32, 24 bytes",
    ]


def test_inspect_weights_and_shards(run, model, tmp_path):
    model.save_weights(tmp_path / "a.weights.h5")
    model.save_weights(tmp_path / "b.weights.json", max_shard_size=4e-8)
    _, whole, _ = run("inspect", tmp_path / "a.weights.h5")
    _, parts, _ = run("inspect", tmp_path / "b.weights.json")
    assert whole.splitlines()[0].endswith("a.weights.h5: weights, tfkit format 1")
    assert whole.splitlines()[1:] == parts.splitlines()[1:]
    assert len(list(tmp_path.glob("b_*"))) > 1
    assert run("verify", tmp_path / "b.weights.json")[0] == 0
    assert run("diff", tmp_path / "a.weights.h5", tmp_path / "b.weights.json")[0] == 0


def test_inspect_prints_the_configuration(run, path):
    code, out, _ = run("inspect", "--config", path)
    assert code == 0
    assert tfkit.models.model_from_json(out).count_params() == 11


def test_inspect_names_what_the_user_must_bring_and_makes_no_object(run, tmp_path, monkeypatch):
    model = tfkit.Sequential([tfkit.Input((3,)), Doubled()])
    model.save(tmp_path / "m.h5")
    monkeypatch.setattr(Doubled, "__init__", None)
    code, out, _ = run("inspect", tmp_path / "m.h5")
    assert code == 0
    assert "needs your own classes or functions: Doubled" in out


def test_what_a_terminal_would_obey_is_escaped(run, tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="\x1b[2Jgone\r")])
    model.save(tmp_path / "m.h5")
    _, out, _ = run("inspect", tmp_path / "m.h5")
    assert "\x1b" not in out
    assert "\r" not in out
    assert "gone" in out


# --- verify --------------------


def test_verify(run, path):
    code, out, err = run("verify", path)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: whole, ")


@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 0.99])
def test_verify_finds_a_changed_byte(run, path, place):
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 4
    path.write_bytes(data)
    code, out, err = run("verify", path)
    assert (code, out) == (1, "")
    assert err.startswith(f"tfkit verify: File {path} ")
    assert "damaged" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["inspect", "verify", "convert", "diff"])
def test_errors_are_one_line(run, path, tmp_path, command):
    more = {"convert": [tmp_path / "out.h5"], "diff": [path]}.get(command, [])
    code, out, err = run(command, tmp_path / "nothing.h5", *more)
    assert (code, out) == (2, "")
    assert err == (
        f"tfkit {command}: File not found: there is no model file at {tmp_path / 'nothing.h5'}. "
        "Please ensure the file is an accessible `.h5` or `.keras` file.\n"
    )
    (tmp_path / "other.h5").write_text("No model.")
    code, out, err = run(command, tmp_path / "other.h5", *more)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "other.h5" in err


def test_words_that_are_no_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["inspekt", "x"])
    assert stopped.value.code == 2
    assert "invalid choice: 'inspekt'" in capsys.readouterr().err


# --- diff --------------------


def without_calls(out):
    """The lines, without what a model was called with before it was saved."""
    return [line for line in out.splitlines() if "config/build_config/call" not in line]


def test_diff_of_equal_files(run, path):
    assert run("diff", path, path) == (0, "no difference\n", "")


def test_diff_of_values_and_configurations(run, model, path, tmp_path):
    other = tfkit.models.load_model(path)
    kernel = other.layers[0].kernel
    kernel.assign(kernel + [[0.0, 0.5], [0.0, 0.0], [0.0, -0.25]])
    other.layers[0].activation = tfkit.activations.tanh
    other.save(tmp_path / "n.h5")
    code, out, err = run("diff", path, tmp_path / "n.h5")
    assert (code, err) == (1, "")
    assert without_calls(out) == [
        '! config/config/layers/1/config/activation: "linear" -> "tanh"',
        "! weights/first/kernel 2 of 6 values differ, by at most 0.5",
    ]


def test_diff_of_what_is_missing_added_and_of_another_shape(run, tmp_path):
    def saved(name, *layers):
        tfkit.Sequential([tfkit.Input((3,)), *layers]).save_weights(tmp_path / name)
        return tmp_path / name

    dense = tfkit.layers.Dense
    old = saved("a.weights.h5", dense(2, name="a"), dense(2, name="b"))
    new = saved("b.weights.h5", dense(3, name="a"), dense(1, name="c", dtype="float64"))
    _, out, _ = run("diff", old, new)
    assert out.splitlines() == [
        "! weights/a/bias (2,) float32 -> (3,) float32",
        "! weights/a/kernel (3, 2) float32 -> (3, 3) float32",
        "- weights/b/bias (2,) float32",
        "- weights/b/kernel (2, 2) float32",
        "+ weights/c/bias (1,) float64",
        "+ weights/c/kernel (3, 1) float64",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (np.float32([0, 1]), np.float32([0, 1]), None),
        (np.float32([np.nan, 1]), np.float32([np.nan, 1]), None),
        (np.float32([np.nan, 1]), np.float32([2, 1]), "1 of 2 values differ, by at most nan"),
        (np.float32([np.nan, 1]), np.float32([2, 2]), "2 of 2 values differ, by at most 1"),
        (np.bool_([True, False]), np.bool_([False, False]), "1 of 2 values differ, by at most 1"),
        (np.int64([5, 7]), np.int64([1, 7]), "1 of 2 values differ, by at most 4"),
        (np.complex64([1j]), np.complex64([0]), "1 of 1 values differ, by at most 1"),
        (np.float32([]), np.float32([]), None),
        (np.float32([0, 1]), np.float32([-0.0, 1]), "1 of 2 values differ, in the sign of 0 only"),
        (np.float32([0, 1]), np.float32([-0.0, 3]), "2 of 2 values differ, by at most 2"),
        (np.float32([np.inf, 1]), np.float32([np.inf, 3]), "1 of 2 values differ, by at most 2"),
        (np.float32([np.inf]), np.float32([-np.inf]), "1 of 1 values differ, by at most inf"),
        (np.float64([1e308]), np.float64([-1e308]), "1 of 1 values differ, by at most inf"),
        (np.int64([2**60]), np.int64([2**60 + 1]), "1 of 1 values differ, by at most 1"),
        (np.uint64([2**64 - 1]), np.uint64([0]), "1 of 1 values differ, by at most 1.84467e+19"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 values differ"),
        (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), "1 of 2 values differ"),
    ],
)
def test_diff_of_kinds_of_values(old, new, line):
    assert diff._different_values(old, new) == line


# --- convert --------------------


def test_convert(run, model, path, tmp_path):
    code, out, err = run("convert", path, tmp_path / "out.hdf5")
    assert (code, out, err) == (0, f"{tmp_path / 'out.hdf5'}: written\n", "")
    assert without_calls(run("diff", path, tmp_path / "out.hdf5")[1]) == []
    code, _, err = run("convert", path, tmp_path / "out.hdf5")
    assert code == 2
    assert "exists" in err
    assert run("convert", "--overwrite", path, tmp_path / "out.hdf5")[0] == 0


def test_convert_with_a_class_of_the_users(run, tmp_path, monkeypatch):
    (tmp_path / "my_layers.py").write_text(
        "import tfkit\n\n\n"
        "@tfkit.saving.register_keras_serializable('mine')\n"
        "class Tripled(tfkit.layers.Layer):\n"
        "    def call(self, x):\n"
        "        return 3 * x\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import my_layers

    tfkit.Sequential([tfkit.Input((3,)), my_layers.Tripled()]).save("m.h5")
    del sys.modules["my_layers"]
    tfkit.src.base.registry.tables._registered.pop("mine>Tripled")
    code, _, err = run("convert", "m.h5", "out.h5")
    assert code == 1
    assert "'Tripled'" in err
    assert "is not registered" in err
    assert "my_layers" not in sys.modules
    assert run("convert", "--import", "my_layers", "m.h5", "out.h5")[0] == 0
    code, _, err = run("convert", "--import", "no_such_module", "m.h5", "out.h5")
    assert (code, err) == (2, "tfkit convert: No module named 'no_such_module'\n")


def test_as_a_program(path):
    ended = subprocess.run(
        [sys.executable, "-m", "tfkit", "verify", str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{path}: whole, ")


@pytest.mark.parametrize("name", ["of_keras3.keras", "keras2_adam.h5"])
def test_files_of_keras(run, tmp_path, name):
    golden = GOLDENS / name
    code, said, _ = run("inspect", golden)
    assert code == 0
    assert "a file of Keras" in said
    assert "optimizer: " in said
    assert "float32" in said
    assert run("verify", golden)[:2][0] == 0
    code, _, _ = run("convert", golden, tmp_path / "m.h5")
    assert code == 0
    assert tfkit.models.load_model(tmp_path / "m.h5").count_params() > 0
    assert run("diff", golden, golden)[:2] == (0, "no difference\n")
    assert run("diff", golden, tmp_path / "m.h5")[0] == 1
