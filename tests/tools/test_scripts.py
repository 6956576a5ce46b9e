"""The shell scripts, in a copy of the repository with an environment that is there already."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def repository(tmp_path):
    """The scripts, a .venv-tools whose programs write down how they were called, and MNIST beside it."""
    root = tmp_path / "repository"
    for folder in ("tools", ".ci"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / "pyproject.toml", root)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    digest = hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest()
    (root / ".venv-tools" / "bin").mkdir(parents=True)
    (root / ".venv-tools" / "installed-test").write_text(f"{digest}\n")
    # The first call asks for the hash of pyproject.toml, with the program as argument of -c.
    write_program(
        root / ".venv-tools" / "bin" / "python",
        f'case "$1" in -c) echo {digest} ;; '
        f'*) echo "python $*" >>{root}/calls; echo "$TFKIT_DATA" >{root}/data; '
        'case "$*" in *pytest*) exit ${PYTEST_STATUS:-0} ;; '
        "*other_kernels*) exit ${OTHER_STATUS:-0} ;; esac ;; esac",
    )
    with open(root / "pyproject.toml") as project:
        summed = subprocess.run(
            ["cksum"], stdin=project, capture_output=True, text=True, check=True
        )
    (root / ".venv-convert" / "bin").mkdir(parents=True)
    (root / ".venv-convert" / "installed").write_text(summed.stdout)
    write_program(
        root / ".venv-convert" / "bin" / "python",
        f'echo "convert $*" >>{root}/calls; exit ${{CONVERT_STATUS:-0}}',
    )
    for name in ("ruff", "mypy"):
        write_program(
            root / ".venv-tools" / "bin" / name,
            f'echo "{name} $*" >>{root}/calls; [ "$FAILING" != "{name} $1" ]',
        )
    write_program(root / "bin" / "chromium", "exit 1")  # So that none is installed.
    return root


def run(program, *arguments, **environment):
    kept = {key: value for key, value in os.environ.items() if key != "TFKIT_DATA"}
    return subprocess.run(
        ["bash", program, *arguments],
        env={**kept, **environment},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ALL_CHECKS = [
    "ruff check --no-cache .",
    "ruff format --check .",
    "mypy ",
    "python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder",
    "python tools/other_kernels.py",
]
CHECKS = [*ALL_CHECKS[:3], f"{ALL_CHECKS[3]} -m not wide", ALL_CHECKS[4]]
CONVERTED = (
    "tests/convert tests/test_docs.py::test_examples_with_optional_packages_run "
    "tests/test_docs.py::test_examples_run[docs/guides/run-an-export.md]"
)


@pytest.mark.parametrize(
    ("arguments", "checks"), [([], CHECKS), (["--all"], ALL_CHECKS)], ids=["", "all"]
)
def test_runs_all_checks(repository, arguments, checks):
    done = run(repository / "tools" / "test", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert (repository / "calls").read_text().splitlines() == checks
    assert ("./tools/test --all runs" in done.stdout) == (not arguments)


@pytest.mark.parametrize(
    "environment", [{}, {"PYTEST_STATUS": "1"}, {"CONVERT_STATUS": "1"}], ids=str
)
def test_continuous_integration_also_converts(repository, environment):
    programs = f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = run(repository / ".ci" / "run", PATH=programs, **environment)
    assert done.returncode == len(environment)
    convert = f"convert -m pytest -q -n 2 {CONVERTED}"
    assert (repository / "calls").read_text().splitlines() == [*ALL_CHECKS, convert]


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"FAILING": "ruff check"}, "ruff check"),
        ({"FAILING": "ruff format"}, "ruff format"),
        ({"FAILING": "mypy "}, "mypy"),
        ({"PYTEST_STATUS": "1"}, "pytest"),
        ({"OTHER_STATUS": "1"}, "pytest, other kernels"),
    ],
)
def test_one_failure_fails_after_all_have_run(repository, environment, name):
    done = run(repository / "tools" / "test", **environment)
    assert (done.returncode, done.stderr) == (1, f"tools/test: failed: {name}\n")
    assert (repository / "calls").read_text().splitlines() == CHECKS


def test_arguments_go_to_pytest_alone(repository):
    done = run(repository / "tools" / "test", "tests/ops", "-k", "a b", PYTEST_STATUS="5")
    assert done.returncode == 5
    assert (repository / "calls").read_text() == "python -m pytest tests/ops -k a b\n"


@pytest.mark.parametrize("arguments", [["--convert"], ["--all", "--convert"]], ids=" ".join)
def test_conversions_have_wide_tests_too(repository, arguments):
    assert run(repository / "tools" / "test", *arguments, "-x").returncode == 0
    selected = "" if "--all" in arguments else " -m not wide"
    called = f"convert -m pytest -q -n 2{selected} {CONVERTED} -x\n"
    assert (repository / "calls").read_text() == called


def test_jax_and_pytorch_are_installed_on_top_of_the_other_packages(repository):
    (repository / ".venv-convert" / "lib" / "python3" / "site-packages").mkdir(parents=True)
    (repository / ".venv-convert" / "installed").write_text("older\n")
    assert run(repository / "tools" / "test", "--convert").returncode == 0
    made, installed, tested = (repository / "calls").read_text().splitlines()
    assert made == "python -m venv --clear .venv-convert"
    assert installed.startswith("convert -m pip install ")
    assert " -e " not in installed
    assert installed.endswith(" tfkit-dl[jax] flax optax torch==2.13.0")
    assert tested.startswith("convert -m pytest ")


def test_data_beside_the_repository_is_found(repository):
    run(repository / "tools" / "test")
    assert (repository / "data").read_text().strip() == str(repository.parent / "shared" / "data")
    run(repository / "tools" / "test", TFKIT_DATA="/mine")
    assert (repository / "data").read_text() == "/mine\n"


def test_changed_requirements_are_installed(repository):
    (repository / ".venv-tools" / "installed-test").write_text("older\n")
    done = run(repository / "tools" / "demo")
    assert done.returncode == 0
    install, demo = (repository / "calls").read_text().splitlines()
    assert install.startswith("python -m pip install")
    assert install.endswith("-e .[examples]")
    assert demo == "python tools/demo.py"
    assert (repository / ".venv-tools" / "installed-examples").exists()


SCRIPTS = [
    path for path in sorted((ROOT / "tools").iterdir()) if path.is_file() and not path.suffix
]


@pytest.mark.parametrize(
    "script", [*SCRIPTS, ROOT / "tools" / "venv.sh"], ids=lambda path: path.name
)
def test_a_script_is_right_bash_and_leaves_the_users_environment_alone(script):
    subprocess.run(["bash", "-n", script], check=True)
    commands = [line for line in script.read_text().splitlines() if not line.startswith("#")]
    assert not [line for line in commands if ".venv/" in line]


def test_an_environment_of_the_user_stays_as_it_is(repository):
    users = repository / ".venv" / "bin" / "python"
    write_program(users, f"echo used >>{repository}/calls")
    (repository / ".venv-tools" / "installed-test").write_text("older\n")
    assert run(repository / "tools" / "demo").returncode == 0
    assert "used" not in (repository / "calls").read_text()
    assert sorted(users.parents[1].rglob("*")) == [users.parent, users]


def test_the_site_is_built_with_the_arguments(repository):
    done = run(repository / "tools" / "site", "a folder")
    assert done.returncode == 0
    assert (repository / "calls").read_text() == "python -m documenting a folder\n"


def test_old_python_is_refused(repository):
    shutil.rmtree(repository / ".venv-tools")
    old = repository / "old-python"
    write_program(old, 'case "$1" in --version) echo Python 3.9.1 ;; *) exit 1 ;; esac')
    done = run(repository / "tools" / "test", PYTHON=str(old))
    assert done.returncode == 1
    assert "needs Python 3.11 or newer. Found: Python 3.9.1" in done.stderr
    assert not (repository / ".venv-tools").exists()


@pytest.mark.parametrize("setting", ["0", "1"])
def test_other_kernels_are_those_that_tensorflow_does_not_take_by_itself(setting):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "other_kernels.py", "--collect-only", "-q", "-n", "0"],
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": setting},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    other = "off" if setting == "1" else "on"
    assert f"these tests run with it {other}" in done.stdout
    assert "tests/test_tensorflow_faults.py::" in done.stdout
