"""Files and folders are replaced whole, whenever their writer dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfkit.saving.atomic import atomic_folder, atomic_write

ROOT = Path(__file__).parents[2]


def test_kills_at_random_moments_and_full_disks(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.saving.killed_writers", str(tmp_path), "20", "30"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("kills") == 3


@pytest.mark.parametrize("atomic", [atomic_write, atomic_folder])
def test_an_error_leaves_what_was_there(atomic, tmp_path):
    target = tmp_path / "target"
    for expected in ("old", "new"):
        with atomic(target) as temporary:
            file = temporary / "x" if temporary.is_dir() else temporary
            file.write_text(expected)
        file = target / "x" if target.is_dir() else target
        assert file.read_text() == expected
    with pytest.raises(RuntimeError), atomic(target) as temporary:
        raise RuntimeError
    assert file.read_text() == "new"
    assert os.listdir(tmp_path) == ["target"]
    os.umask(mask := os.umask(0))
    assert target.stat().st_mode & 0o777 == (0o777 if target.is_dir() else 0o666) & ~mask


def test_only_what_dead_writers_left_is_removed(tmp_path):
    (tmp_path / ".tfkit.dead.tmp").write_text("half")
    (tmp_path / ".tfkit.folder.tmp").mkdir()
    (tmp_path / ".tfkit.folder.tmp/x").write_text("half")
    (tmp_path / ".other.tmp").write_text("of another program")
    (tmp_path / ".tfkit.link.tmp").symlink_to(tmp_path / ".other.tmp")
    with atomic_write(tmp_path / "a") as first, atomic_folder(tmp_path / "b") as second:
        first.write_text("whole")
        with atomic_write(tmp_path / "a") as third:
            third.write_text("shadowed")
        assert first.exists()
        assert second.exists()
    assert sorted(os.listdir(tmp_path)) == [".other.tmp", ".tfkit.link.tmp", "a", "b"]
    assert (tmp_path / "a").read_text() == "whole"


def test_a_folder_without_an_exchange_of_names(tmp_path, monkeypatch):
    monkeypatch.setattr("tfkit.saving.atomic._exchange", lambda one, other: False)
    for expected in ("old", "new"):
        with atomic_folder(tmp_path / "target") as temporary:
            (temporary / "x").write_text(expected)
    assert (tmp_path / "target/x").read_text() == "new"
    assert os.listdir(tmp_path) == ["target"]
