"""Programs that know nothing of tfkit: `tfkit run`, and `TFKIT_AS_KERAS=1` with `tfkit-as-keras`."""

import os
import subprocess
import sys
import venv
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from tfkit.src.files.interop import stand_in
from tfkit.src.outer import cli
from tfkit.src.outer.as_keras import hook

ROOT = Path(__file__).parents[2]
CHECKED = """
import sys
assert not {"tensorflow", "keras", "tfkit"} & sys.modules.keys(), "Python's start imported them"
import %s
import tensorflow as tf
import keras
from keras.src.layers.convolutional.conv2d import Conv2D
assert tf.__spec__.name == "tensorflow" and tf.__spec__.origin.endswith("__init__.py")
assert keras.layers.Dense.__module__.startswith("tfkit.") and Conv2D is keras.layers.Conv2D
assert tf.keras.layers.Dense is keras.layers.Dense and keras.__version__ == "3.15.1"
"""
PARENT = """
import os, subprocess, sys
from keras import layers
assert layers.Dense.__module__.startswith("tfkit.") and sys.argv[1:] == ["-m", "--help", "a b"]
assert os.environ["FROM_SITE"] == "1"
subprocess.run([sys.executable, "-c", os.environ["CHECKED"]], check=True)
"""


def test_run_reaches_a_script_its_arguments_and_its_child_processes(tmp_path):
    """Also the `sitecustomize` that the environment has."""
    script = tmp_path / "program.py"
    script.write_text(PARENT)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os; os.environ['FROM_SITE'] = '1'")
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    done = subprocess.run(
        [sys.executable, "-m", "tfkit", "run", script, "-m", "--help", "a b"],
        env={**os.environ, "PYTHONPATH": path, "CHECKED": CHECKED % "tfkit"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == ""


@pytest.mark.parametrize("argument", ["-h", "--help"])
def test_help_is_that_of_the_command(argument, capsys):
    assert cli.main(["run", argument]) == 0
    assert capsys.readouterr().out.startswith("usage: tfkit run SCRIPT")


def test_a_program_that_does_not_exist(capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("TFKIT_AS_KERAS", "")
    assert cli.main(["run", "no-such-program"]) == 2
    assert "no program 'no-such-program' on `PATH`" in capsys.readouterr().err


def test_the_hook_waits_only_where_the_variable_is_set(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [])
    for value in ("", "0"):
        monkeypatch.setenv("TFKIT_AS_KERAS", value)
        hook.begin()
        assert sys.meta_path == []
    monkeypatch.setenv("TFKIT_AS_KERAS", "1")
    hook.begin()
    hook.begin()
    (finder,) = sys.meta_path
    assert finder.find_spec("json", None) is None
    assert sys.meta_path == [finder]


def test_places_of_keras_are_served_without_its_files(monkeypatch):
    monkeypatch.setattr(PathFinder, "find_spec", lambda *args: None)
    stand_in._is_source.cache_clear()
    try:
        found = stand_in._found("keras.src.layers.convolutional.conv2d")
        assert found.__name__ == "tfkit.layers"
        assert stand_in._found("keras.src.engine.base_layer") is None
    finally:
        stand_in._is_source.cache_clear()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A Python with the wheel of `tfkit-as-keras`, and with the packages of this one."""
    folder = tmp_path_factory.mktemp("as_keras")
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*command, "wheel", "--no-deps", "-w", folder, ROOT / "packages" / "tfkit-as-keras"],
        check=True,
    )
    (wheel,) = folder.glob("tfkit_as_keras-*.whl")
    venv.create(folder / "venv")
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    subprocess.run([*command, "install", "--no-deps", "--target", packages, wheel], check=True)
    others = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "others.pth").write_text("\n".join(others))
    return folder / "venv" / "bin" / "python"


@pytest.mark.parametrize("first", ["tensorflow", "tensorflow.keras.layers"])
def test_the_variable_is_enough_where_the_distribution_is_installed(environment, first):
    env = {**os.environ, "TFKIT_AS_KERAS": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [environment, "-c", CHECKED % first], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_nothing_happens_without_the_variable(environment):
    program = (
        "import sys; assert '_Hook' not in [type(finder).__name__ for finder in sys.meta_path]"
    )
    env = {name: value for name, value in os.environ.items() if name != "TFKIT_AS_KERAS"}
    subprocess.run([environment, "-c", program], env={**env, "PYTHONPATH": ""}, check=True)


def test_a_variable_without_tfkit_is_an_error_that_names_it(environment, tmp_path):
    module = ROOT / "packages" / "tfkit-as-keras" / "tfkit_as_keras.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", module], cwd=tmp_path, capture_output=True, text=True
    )
    assert "TFKIT_AS_KERAS is set, but tfkit is not installed here" in done.stderr
