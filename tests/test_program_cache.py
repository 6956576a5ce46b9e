"""Compiled programs on disk: the same numbers whatever is there, and no failure because of it."""

import io
import json
import os
import subprocess
import sys

import pytest

from tfkit.src.runtime import program_cache

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import numpy as np
import tfkit
from tfkit.src.runtime import program_cache
given = []
give = program_cache._give
program_cache._give = lambda path: given.append(path.name) or give(path)
tfkit.utils.set_random_seed(0)
layers = tfkit.layers
model = tfkit.Sequential(
    [layers.Dense(8, "gelu"), layers.Dropout(0.5), layers.LayerNormalization(), layers.Dense(2)]
)
model.compile("adam", "mse", jit_compile=True)
x = np.random.default_rng(0).normal(size=(40, 4)).astype("float32")
history = model.fit(x, x[:, :2], batch_size=16, epochs=2, verbose=0).history
weights = [weight.numpy().tobytes().hex() for weight in model.weights]
print(json.dumps([history, weights, len(given)]))
"""


def run(cache, status=0):
    environment = {**os.environ, "TFKIT_CACHE": str(cache), "TF_CPP_MIN_LOG_LEVEL": "1"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == status, result.stderr
    assert "cpu_aot_loader" not in result.stderr
    assert "XlaSerializedCacheEntry" not in result.stderr
    return json.loads(result.stdout.splitlines()[-1]) if status == 0 else result.stderr


def test_the_same_numbers_with_and_without(tmp_path):
    without = run("off")
    cache = tmp_path / "cache"
    assert run(cache) == without  # Empty.
    files = {path.name: path for path in cache.rglob("tfkit_*")}
    assert len(files) >= 2  # Of batches of 16 and of 8 rows.
    assert {os.stat(path.parent).st_mode & 0o777 for path in files.values()} == {0o700}
    assert {os.stat(path).st_mode & 0o777 for path in files.values()} == {0o600}

    *numbers, given = run(cache)
    assert numbers == without[:2]
    assert given == len(files)

    for path in files.values():  # Damaged in the middle, and cut off.
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content if path is next(iter(files.values())) else content[:-5])
    assert run(cache)[:2] == without[:2]
    assert {path.name for path in cache.rglob("tfkit_*")} == set(files)
    assert run(cache)[2] == len(files)


@pytest.mark.parametrize("place", ["/proc/none/cache", "a file"])
def test_a_folder_that_cannot_be(place, tmp_path):
    (tmp_path / "a file").write_text("")
    *_, given = run(place if place.startswith("/") else tmp_path / place)
    assert given == 0


def test_a_folder_that_others_may_write_to(tmp_path):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(0o777)
    assert "others may write to" in run(tmp_path, status=1)
    assert not list(tmp_path.rglob("tfkit_*"))


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777, 0o755])
def test_folders_above_that_others_may_write_to(mode, tmp_path):
    """They could put a folder of theirs in the place of ours, but for folders like `/tmp`."""
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(mode)
    assert program_cache._is_safe(above) == (mode in (0o1777, 0o755))


@pytest.mark.parametrize("kind", ["pipe", "link", "of a group"])
def test_what_others_put_into_the_folder(kind, folder, tmp_path):
    path = folder / "tfkit_0-a.pb"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "target").write_bytes(b"content")
        path.symlink_to(tmp_path / "target")
    else:
        path.write_bytes(b"content")
        path.chmod(0o664)
    if kind == "link":
        with pytest.raises(OSError, match="symbolic links"):
            program_cache._content(path)
    else:
        assert program_cache._content(path) == b""
    program_cache.provide(["tfkit_0"])
    assert not program_cache._state.given


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that this process writes to, without TensorFlow knowing."""
    folder = tmp_path / "programs" / "environment"
    folder.mkdir(parents=True)
    state = program_cache._State()
    state.is_on = state.is_checked = True
    state.folder = folder
    monkeypatch.setattr(program_cache, "_state", state)
    return folder


def test_the_least_recently_used_go_first(folder, monkeypatch):
    for number in range(6):
        (folder / f"{number}").write_bytes(bytes(100))
        os.utime(folder / f"{number}", (number, number))
    os.utime(folder / "0", (9, 9))
    monkeypatch.setattr(program_cache, "_MOST", 350)
    program_cache._make_room(folder.parent)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "4", "5"]


def test_entries_of_another_form_are_left_out(folder):
    for entry in (b"", b"\xff" * 20, b"\x0a\x02\x08\x01", b"text"):
        program_cache._write(folder, "a.pb", entry)
    assert not list(folder.iterdir())


def test_a_full_disk(folder, monkeypatch):
    monkeypatch.setattr(program_cache.xla_entries, "program_of", lambda _: "tfkit_0")
    monkeypatch.setattr(program_cache.xla_entries, "as_text", lambda _: b"text")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program_cache.os, "replace", full)
    monkeypatch.setattr(program_cache.tf.io.gfile, "listdir", lambda _: ["a.pb"])
    monkeypatch.setattr(program_cache.tf.io.gfile, "remove", lambda _: None)
    monkeypatch.setattr(program_cache.tf.io.gfile, "GFile", lambda *_: io.BytesIO())
    program_cache.keep()
    assert not list(folder.iterdir())
