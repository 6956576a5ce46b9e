"""`tfkit inspect`, `verify`, `diff`, `convert`."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.outer import cli
from tfkit.src.outer.cli import diff
from tfkit.src.outer.cli.wording import in_options

GOLDENS = Path(__file__).parent / "goldens"


class Doubled(tfkit.layers.Layer):
    """A class that a user has not registered."""

    def call(self, x):
        return 2 * x


@tfkit.saving.register_keras_serializable("test_cli")
class Inverse(tfkit.layers.Layer):
    """A layer that LiteRT has no operation for."""

    def call(self, x):
        return tf.linalg.inv(x)


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
    assert out.startswith(f"{path}: intact, ")


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


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["inspekt", "x"], "tfkit: there is no command 'inspekt'. Did you mean 'inspect'?"),
        (["xyz"], "tfkit: there is no command 'xyz'. Expected one of: inspect, verify, diff,"),
        ([], "tfkit: the following arguments are required: COMMAND."),
        (["--verson"], "tfkit: "),
        (["inspect"], "tfkit inspect: the following arguments are required: file."),
        (
            ["inspect", "m.h5", "--confg"],
            "tfkit inspect: unrecognized arguments: --confg. Did you mean '--config'?",
        ),
        (["verify", "a.h5", "b.h5"], "tfkit verify: unrecognized arguments: b.h5."),
        (["export", "m.h5", "m", "--format", "onix"], "tfkit export: argument --format: invalid"),
        (["serve", "--port", "x", "."], "tfkit serve: argument --port: invalid int value: 'x'."),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(capsys, words, line):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert " --help\n" in err


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
    assert (code, err) == (
        2,
        f"tfkit convert: {tmp_path / 'out.hdf5'} exists. Pass --overwrite to replace it.\n",
    )
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
    assert err.endswith("in a module, and pass --import MODULE.\n")
    assert "custom_objects" not in err
    assert "my_layers" not in sys.modules
    assert run("convert", "--import", "my_layers", "m.h5", "out.h5")[0] == 0
    code, _, err = run("convert", "--overwrite", "--import", "no_such_module", "m.h5", "out.h5")
    line = "tfkit convert: --import no_such_module: there is no module 'no_such_module'.\n"
    assert (code, err) == (2, line)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
        ("def f(:", "SyntaxError: invalid syntax (bad.py, line 1)"),
    ],
)
def test_a_module_whose_import_fails(run, tmp_path, monkeypatch, source, error):
    (tmp_path / "bad.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    code, _, err = run("convert", "--import", "bad", "m.h5", "out.h5")
    sys.modules.pop("bad", None)
    assert (code, err) == (1, f"tfkit convert: --import bad: its import raised {error}\n")
    with pytest.raises(RuntimeError, match="--import bad"):
        run("convert", "--traceback", "--import", "bad", "m.h5", "out.h5")
    sys.modules.pop("bad", None)


def test_convert_leaves_out_the_optimizer(run, path, tmp_path):
    assert run("convert", "--no-compile", path, tmp_path / "out.h5")[0] == 0
    assert not tfkit.models.load_model(tmp_path / "out.h5").compiled


def test_warnings_are_lines_of_the_command(run, tmp_path, monkeypatch, path):
    (tmp_path / "old.py").write_text("import warnings\nwarnings.warn('This is\\nold.')\n")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run("convert", "--import", "old", path, "out.h5")
    sys.modules.pop("old", None)
    assert (code, err) == (0, "tfkit convert: UserWarning: This is old.\n")


# --- export, summary, plot --------------------


def test_export_follows_the_extension(run, path, tmp_path):
    target = tmp_path / "m.tflite"
    assert run("export", path, target) == (0, f"{target}: written\n", "")
    assert target.read_bytes()[4:8] == b"TFL3"
    exists = f"tfkit export: {target} exists. Pass --overwrite to replace it.\n"
    assert run("export", path, target) == (2, "", exists)
    assert run("export", "--overwrite", "--format", "tflite", path, target)[0] == 0
    assert run("export", path, tmp_path / "folder")[0] == 0
    assert (tmp_path / "folder" / "saved_model.pb").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["m.onnx", "--format", "tflite"],
            "The extension '.onnx' means the format 'onnx'. Received: --format 'tflite', '{}/m.onnx'. "
            "Leave out --format, or choose a different extension.",
        ),
        (
            ["m.onnx", "--select-tf-ops"],
            "--select-tf-ops is an option of LiteRT. The format is 'onnx'.",
        ),
        (["m.h5"], "The extension '.h5' is one of files that `model.save()` writes"),
    ],
)
def test_exports_that_contradict_themselves(run, path, tmp_path, words, message):
    name, *options = words
    target = tmp_path / "out" / name
    code, out, err = run("export", path, target, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"tfkit export: {message.format(target.parent)}")
    assert err.count("\n") == 1


def test_what_cannot_be_exported_is_a_failure(run, tmp_path):
    tfkit.Sequential([tfkit.Input((2, 2)), Inverse()]).save(tmp_path / "m.h5")
    code, _, err = run("export", tmp_path / "m.h5", tmp_path / "m.tflite")
    assert code == 1
    assert err.count("\n") == 1
    assert "In Python, pass `input_signature=[" in err
    assert "or --select-tf-ops if what runs the file has" in err
    assert "enable_select_tf_ops" not in err
    target = tmp_path / "m.tflite"
    assert run("export", "--select-tf-ops", tmp_path / "m.h5", target)[0] == 0


def test_summary(run, path):
    code, out, err = run("summary", path)
    assert (code, err) == (0, "")
    assert "first (Dense)" in out
    assert "Total params: 11" in out


def test_plot(run, path, tmp_path):
    target = tmp_path / "m.svg"
    assert run("plot", path, target) == (0, f"{target}: written\n", "")
    assert "first" in target.read_text()
    assert run("plot", path, target)[0] == 2


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Load it alone: pass `compile=False`.\n\nMore.", "Load it alone: pass --no-compile. More."),
        (
            "Decorate it with `@register()` before loading, or pass `custom_objects={'A': ...}`.",
            "Decorate it with `@register()` in a module, and pass --import MODULE.",
        ),
        ("`@register(name='a')`, or pass `custom_objects={'a': function}`.",
         "`@register(name='a')` in a module, and pass --import MODULE."),
        ("Pass `skip_mismatch=True` to load what fits.",
         "In Python, pass `skip_mismatch=True` to load what fits."),
    ],
)  # fmt: skip
def test_messages_name_options(message, line):
    assert in_options(message) == line


def test_an_error_of_another_kind_has_its_name(run, path, monkeypatch):
    def broken(*args):
        raise KeyError("a")

    monkeypatch.setattr(diff, "run", broken)
    assert run("diff", path, path) == (1, "", "tfkit diff: KeyError: 'a'\n")
    with pytest.raises(KeyError):
        run("--traceback", "diff", path, path)
    with pytest.raises(KeyError):
        run("diff", path, path, "--traceback")


def test_as_a_program(path):
    ended = subprocess.run(
        [sys.executable, "-m", "tfkit", "verify", str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{path}: intact, ")


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


# --- The version that wrote a file ------


@pytest.mark.parametrize(
    "name",
    ["a.h5", "a.keras", "a.weights.h5", "a.weights.json", "a.safetensors", "exported", "orbax"],
)
def test_files_and_exports_name_the_version_that_wrote_them(run, model, tmp_path, name):
    match name:
        case "exported":
            model.export(tmp_path / name, verbose=False)
        case "a.weights.json":
            model.save_weights(tmp_path / name, max_shard_size=4e-8)
        case "a.weights.h5" | "a.safetensors":
            model.save_weights(tmp_path / name)
        case "orbax":
            pytest.importorskip("orbax.checkpoint", reason="pip install 'tfkit-dl[orbax]'")
            callback = tfkit.callbacks.OrbaxCheckpoint(tmp_path / name)
            model.fit(np.ones((4, 3)), np.ones((4, 1)), callbacks=[callback], verbose=0)
        case _:
            model.save(tmp_path / name)
    code, out, _ = run("inspect", tmp_path / name)
    assert code == 0
    assert re.search(rf"\bwritten by tfkit {re.escape(tfkit.__version__)}(\n| with)", out)


def test_a_file_without_a_version_is_inspected_and_loaded(run):
    golden = GOLDENS / "of_keras3.keras"
    code, out, _ = run("inspect", golden)
    assert (code, "written by" in out) == (0, False)


@pytest.mark.parametrize("content", ["", "[]", '{"tfkit": "1"}', "[" * 100_000])
def test_a_damaged_provenance_is_one_line(run, model, tmp_path, content):
    model.export(tmp_path / "m", verbose=False)
    (tmp_path / "m" / "assets.extra" / "tfkit_provenance.json").write_text(content)
    code, out, err = run("inspect", tmp_path / "m")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "does not state what wrote the export" in err
