"""Makes the environment of a package: that of the tools, and what the package needs besides."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

from clienting.packages import Package

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/clients"


def place_of(package: Package) -> Path:
    """Returns the folder of a package's environment, tests and results."""
    return FOLDER / f"{package.module}-{package.version}"


def prepare(package: Package) -> tuple[Path, Path]:
    """Installs a package and unpacks its tests, unless that was done before.

    Returns:
        The interpreter, and the folder of the tests.
    """
    place = place_of(package)
    interpreter = place / "venv/bin/python"
    if not (place / "installed").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place / "venv", with_pip=True)
        _share(place / "venv")
        wanted = f"{package.name}=={package.version}"
        _pip(interpreter, "install", "--no-deps", wanted)
        if package.needs:
            _pip(interpreter, "install", *package.needs)
        if package.tests:
            _unpack(interpreter, package, wanted, place)
        if package.passengers:
            _write_passengers(place, package.passengers)
        (place / "installed").touch()
    return interpreter, place / "source"


def _share(folder: Path) -> None:
    """Lets an environment import what that of the tools has, TensorFlow above all."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shared = sysconfig.get_path("purelib")
    line = f"import site; site.addsitedir({shared!r})\n"
    (folder / "lib" / version / "site-packages/shared.pth").write_text(line)


def _pip(interpreter: Path, *arguments: str) -> None:
    command = [interpreter, "-m", "pip", *arguments, "-qq", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip {' '.join(arguments)}:\n{done.stderr[-2000:]}")


def _unpack(interpreter: Path, package: Package, wanted: str, place: Path) -> None:
    kind = ["--no-binary", ":all:"] if package.source == "sdist" else ["--only-binary", ":all:"]
    folder = place / "download"
    _pip(interpreter, "download", "--no-deps", *kind, "-d", str(folder), wanted)
    (archive,) = folder.iterdir()
    unpacked = place / "unpacked"
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as file:
            file.extractall(unpacked, filter="data")
        (source,) = unpacked.iterdir()
    else:
        with zipfile.ZipFile(archive) as file:
            file.extractall(unpacked)
        source = unpacked
    # The tests alone, where they are not a part of the package: the package is the installed one.
    target = place / "source"
    for name in package.tests:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    for folder in {file.parent for file in target.rglob("*.py")} - {target}:
        (folder / "__init__.py").touch()  # For relative imports in tests.


def _write_passengers(place: Path, names: tuple[str, ...]) -> None:
    """Writes tables with the columns of the Titanic's passengers where a download would be."""
    generator = random.Random(0)
    for name in names:
        path = place / "home/datasets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = ["survived,sex,age,n_siblings_spouses,parch,fare,class,deck,embark_town,alone"]
        for _ in range(300):
            chosen = (
                *(generator.choice("01"), generator.choice(["male", "female"])),
                *(generator.randint(1, 80), generator.randint(0, 3), generator.randint(0, 3)),
                *(
                    round(generator.uniform(5, 90), 2),
                    generator.choice(["First", "Second", "Third"]),
                ),
                *(generator.choice("ABCDE"), generator.choice(["Cherbourg", "Southampton"])),
                generator.choice("yn"),
            )
            rows.append(",".join(map(str, chosen)))
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def variables(package: Package) -> dict[str, str]:
    """Returns the environment variables of its processes."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "MPLBACKEND": "agg",
        "KERAS_HOME": str(place_of(package) / "home"),
        **dict(package.settings),
    }
