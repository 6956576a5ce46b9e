"""The wheel: built from the sources, installed where there is no tfkit, and used from there."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import numpy as np, tfkit as keras
print(keras.__file__)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
model.save("model.h5")
assert np.array_equal(keras.models.load_model("model.h5").get_weights()[0], model.get_weights()[0])
"""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the sources, built from a copy: building writes beside them."""
    folder = tmp_path_factory.mktemp("wheel")
    files = run(
        "git", "ls-files", "-z", "tfkit", "pyproject.toml", "README.md", "LICENSE", cwd=ROOT
    )
    for name in filter(None, files.split("\0")):
        if (ROOT / name).exists():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    options = ("--no-deps", "--disable-pip-version-check", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", "-q", *options, folder / "source")
    (path,) = folder.glob("*.whl")
    return path


def test_the_distribution_has_a_name_of_its_own(wheel):
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert name == "tfkit-dl"  # Package indexes have another "tfkit".
    assert wheel.name.startswith("tfkit_dl-")


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "tfkit").rglob("*.py")}
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged == sources | {"tfkit/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_installed_wheel_trains_saves_and_has_its_command(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    site = sysconfig.get_path("purelib", "venv", {"base": str(tmp_path / "env")})
    python = tmp_path / "env" / "bin" / "python"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
    )  # It writes scripts for that interpreter.
    run(*pip, "install", "-q", "--no-deps", "--disable-pip-version-check", wheel)
    # TensorFlow and the other packages are those of the tests; an editable tfkit there is not seen this way.
    env = {
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PATH": "/usr/bin:/bin",
    }
    printed = run(python, "-c", PROGRAM, cwd=tmp_path, env=env)
    assert printed.startswith(site)
    assert "dense" in run(
        tmp_path / "env" / "bin" / "tfkit", "inspect", "model.h5", cwd=tmp_path, env=env
    )
