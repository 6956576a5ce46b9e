"""Compiled programs on disk: the same numbers whatever is there, and no failure because of it."""

import json
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.wrappers_pb2 import BytesValue

import tfkit
from tfkit.src.engine import cache_folder, program_cache, xla_entries

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import numpy as np
import tfkit
from tfkit.src.engine import program_cache
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
outputs = [model(x[:rows]).numpy().tolist() for rows in (3, 3, 5, 3, 5, 7)]
left = program_cache.tf.io.gfile.glob(program_cache._IN_MEMORY + "/*")
print(json.dumps([history, weights, outputs, left, len(given)]))
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
    with ThreadPoolExecutor() as pool:  # Two at once find it empty.
        for *numbers, left, _ in pool.map(run, [cache, cache]):
            assert numbers == without[:3]
            assert left == []  # Memory does not grow.
    files = {path.name: path for path in cache.rglob("*") if path.is_file()}
    assert len(files) >= 5  # Of steps of 16 and of 8 rows, of calls of 3, 5 and 7.
    assert all(name.startswith("tfkit_") for name in files)  # Nothing else is left behind.
    assert {os.stat(path).st_mode & 0o777 for path in files.values()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in cache.rglob("*") if path.is_dir()} == {0o700}

    *numbers, given = run(cache)
    assert numbers == without[:4]
    assert given == len(files)

    for path in files.values():  # Damaged in the middle, and cut off.
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content if path is next(iter(files.values())) else content[:-5])
    assert run(cache)[:4] == without[:4]
    assert {path.name for path in cache.rglob("tfkit_*")} == set(files)
    assert run(cache)[4] == len(files)


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


# --- The folder ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "shared", "expected"),
    [
        (None, None, "/nowhere/.cache/tfkit/programs"),
        (None, "/shared", "/shared/tfkit/programs"),
        (None, "not/absolute", "/nowhere/.cache/tfkit/programs"),
        ("/mine", "/shared", "/mine/programs"),
        ("~/mine", None, "/nowhere/mine/programs"),
        ("on", None, "/nowhere/.cache/tfkit/programs"),
        ("True", "/shared", "/shared/tfkit/programs"),
    ],
)
def test_where_it_is(chosen, shared, expected, monkeypatch):
    monkeypatch.setenv("HOME", "/nowhere")
    for name, value in (("TFKIT_CACHE", chosen), ("XDG_CACHE_HOME", shared)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert not cache_folder.is_switched_off()
    assert cache_folder._root() == Path(expected)


@pytest.mark.parametrize("value", ["off", "OFF", "0", "", "false", "no"])
def test_it_is_switched_off(value, monkeypatch):
    monkeypatch.setenv("TFKIT_CACHE", value)
    assert cache_folder.is_switched_off()


def test_without_a_home_there_is_none(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TFKIT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(cache_folder.Path, "home", no_home)
    assert cache_folder.checked_folder() is None


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder that `TFKIT_CACHE` names, with no folder in it yet."""
    monkeypatch.setenv("TFKIT_CACHE", str(tmp_path / "above" / "cache"))
    return tmp_path / "above" / "cache"


def test_folders_are_for_the_user_alone_whatever_the_mask_is(cache):
    before = os.umask(0)
    try:
        folder = cache_folder.checked_folder()
    finally:
        os.umask(before)
    assert folder.is_relative_to(cache / "programs")
    assert f"tensorflow-{tf.__version__}-" in folder.name
    for place in (folder, *folder.parents[:3]):
        assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_is_refused_for_any_folder_above(depth, mode, cache, monkeypatch):
    folder = cache_folder.checked_folder()
    place = (folder, *folder.parents)[depth]
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: False)
    place.chmod(mode)
    with pytest.warns(UserWarning, match="others may write") as caught:
        assert cache_folder.checked_folder() is None
    assert repr(str(place)) in str(caught[0].message)
    place.chmod(0o755)
    assert cache_folder.checked_folder() == folder


def test_others_may_write_beside_it_where_they_cannot_replace_it(cache):
    folder = cache_folder.checked_folder()
    cache.chmod(0o1777)  # As /tmp.
    assert cache_folder.checked_folder() == folder
    folder.chmod(0o1777)  # But not into it.
    with pytest.warns(UserWarning, match="others may write"):
        assert cache_folder.checked_folder() is None


def test_a_group_of_the_user_alone_is_no_other(cache, monkeypatch):
    folder = cache_folder.checked_folder()
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: True)
    cache.chmod(0o770)
    assert cache_folder.checked_folder() == folder


def test_a_link_is_followed_once_and_its_target_is_looked_at(cache, tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    cache.parent.mkdir()
    cache.symlink_to(target)
    assert cache_folder.checked_folder().is_relative_to(target.resolve())
    target.chmod(0o777)
    with pytest.warns(UserWarning, match="elsewhere"):
        assert cache_folder.checked_folder() is None


def test_each_environment_has_a_folder_of_its_own(cache, monkeypatch):
    def name():
        return cache_folder.checked_folder().name

    first = name()
    assert name() == first
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    second = name()
    monkeypatch.setattr(cache_folder, "_cpu", lambda: ["flags : sse2"])
    third = name()
    monkeypatch.setattr(cache_folder.os, "sched_getaffinity", lambda _: range(100))
    assert len({first, second, third, name()}) == 4


# --- What TensorFlow is told --------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch):
    """A process in which TensorFlow has computed nothing."""
    monkeypatch.setattr(program_cache, "_state", program_cache._State())
    monkeypatch.setattr(program_cache, "has_read_flags", lambda: False)
    monkeypatch.setattr(program_cache.atexit, "register", lambda _: None)
    monkeypatch.delenv("TFKIT_CACHE")
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    return monkeypatch


def begun():
    program_cache.begin()
    return tfkit.config.is_program_cache_enabled(), os.environ.get("TF_XLA_FLAGS", "")


def test_it_is_on_by_default(fresh):
    assert begun() == (True, program_cache._FLAGS)


def test_a_process_that_inherits_the_flags_has_it_too(fresh):
    fresh.setenv("TF_XLA_FLAGS", program_cache._FLAGS)
    assert begun() == (True, program_cache._FLAGS)


def test_a_process_that_inherits_the_flags_can_be_without(fresh):
    fresh.setenv("TF_XLA_FLAGS", f"--tf_xla_clustering_debug {program_cache._FLAGS}")
    fresh.setenv("TFKIT_CACHE", "off")
    assert begun() == (False, "--tf_xla_clustering_debug")


@pytest.mark.parametrize(
    "flags", ["--tf_xla_persistent_cache_directory=/mine", "/path/of/a/file/with/flags"]
)
def test_what_the_user_has_chosen_stays(flags, fresh):
    fresh.setenv("TF_XLA_FLAGS", flags)
    assert begun() == (False, flags)


def test_other_flags_stay(fresh):
    fresh.setenv("TF_XLA_FLAGS", "--tf_xla_clustering_debug")
    assert begun() == (True, f"--tf_xla_clustering_debug {program_cache._FLAGS}")


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_have_none(platform, fresh):
    fresh.setattr(sys, "platform", platform)
    assert begun() == (False, "")


def test_other_versions_of_tensorflow_have_none(fresh):
    fresh.setattr(program_cache.tf, "__version__", "2.99.0")
    assert begun() == (False, "")


def test_it_is_too_late_once_tensorflow_has_read_its_flags(fresh):
    fresh.undo()  # This process has.
    fresh.setattr(program_cache, "_state", program_cache._State())
    fresh.setenv("TFKIT_CACHE", "/nowhere")
    tf.constant(1)
    assert begun() == (False, os.environ.get("TF_XLA_FLAGS", ""))


LATER = """
import gc, os, sys, weakref
import tensorflow as tf
if sys.argv[1] == "computed":
    tf.constant(1)
class Garbage: pass
garbage = Garbage()
garbage.itself = garbage
reference = weakref.ref(garbage)
del garbage
import tfkit
assert reference() is None  # Before the rest is frozen.
assert gc.get_freeze_count() > 100_000
print(tfkit.config.is_program_cache_enabled(), "ram://" in os.environ.get("TF_XLA_FLAGS", ""))
"""


@pytest.mark.parametrize(("before", "expected"), [("imported", "True"), ("computed", "False")])
def test_tensorflow_may_be_imported_first(before, expected, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LATER, before],
        env={**os.environ, "TFKIT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == [expected, expected], done.stderr


# --- Entries ------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that this process writes to, without TensorFlow knowing."""
    folder = tmp_path / "programs" / "environment"
    folder.mkdir(parents=True)
    state = program_cache._State()
    state.is_told = state.is_checked = True
    state.folder = folder
    monkeypatch.setattr(program_cache, "_state", state)
    monkeypatch.setattr(program_cache, "_IN_MEMORY", f"ram://{tmp_path.name}")
    tf.io.gfile.makedirs(program_cache._IN_MEMORY)
    monkeypatch.setattr(program_cache.xla_entries, "program_of", lambda _: "tfkit_0")
    monkeypatch.setattr(program_cache.xla_entries, "as_text", lambda entry: b"text of " + entry)
    return folder


def in_memory():
    return {
        name: tf.io.gfile.GFile(f"{program_cache._IN_MEMORY}/{name}", "rb").read()
        for name in tf.io.gfile.listdir(program_cache._IN_MEMORY)
    }


def compile_one(name="a.pb"):
    """What TensorFlow does between `provide` and `keep`."""
    with tf.io.gfile.GFile(f"{program_cache._IN_MEMORY}/{name}", "wb") as file:
        file.write(name.encode())


SHAPES = [tf.TensorShape([3, 4])]


def test_an_entry_is_found_again_for_its_program_and_shapes(folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    compile_one("half.tmp")  # By another thread, which has not finished.
    program_cache.keep()
    assert set(in_memory()) == {"half.tmp"}
    for programs, shapes, found in (
        (["tfkit_0"], SHAPES, True),
        (["tfkit_1", "tfkit_0"], SHAPES, True),
        (["tfkit_0"], [tf.TensorShape([3, 5])], False),
        (["tfkit_1"], SHAPES, False),
    ):
        program_cache.provide(programs, shapes)
        assert (in_memory().get("a.pb") == b"text of a.pb") == found
        program_cache.keep()
        assert "a.pb" not in in_memory()
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_another_thread_is_about_to_read_stays(folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    program_cache.keep()
    program_cache.provide(["tfkit_0"], SHAPES)
    program_cache.provide(["tfkit_1"], SHAPES)  # The other thread.
    program_cache.keep()
    assert set(in_memory()) == {"a.pb"}
    program_cache.keep()
    assert not in_memory()


def test_turned_off_it_neither_reads_nor_writes(folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    program_cache.keep()
    tfkit.config.disable_program_cache()
    assert not tfkit.config.is_program_cache_enabled()
    program_cache.provide(["tfkit_0"], SHAPES)
    assert not in_memory()
    compile_one("b.pb")
    program_cache.keep()
    assert not in_memory()
    assert len(list(folder.iterdir())) == 1
    tfkit.config.enable_program_cache()
    program_cache.provide(["tfkit_0"], SHAPES)
    assert set(in_memory()) == {"a.pb"}


def damage(file):
    file.write_bytes(file.read_bytes()[:-1])


def swap(file):
    """The place of another entry is taken."""
    file.rename(file.with_name(file.name.replace("a.pb", "b.pb")))


def forge(file):
    """No entry, under a seal that is right."""
    file.write_bytes(program_cache._seal(file.name, b"text") + b"text")


@pytest.mark.parametrize("change", [damage, swap, forge])
def test_an_invalid_entry_is_removed(change, folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    program_cache.keep()
    change(*folder.iterdir())
    program_cache.provide(["tfkit_0"], SHAPES)
    assert not in_memory()
    assert not list(folder.iterdir())


def make_writable(file):
    file.chmod(0o666)


def make_link(file):
    target = file.rename(file.parents[1] / "elsewhere")
    file.symlink_to(target)


def make_pipe(file):
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize("change", [make_writable, make_link, make_pipe])
def test_what_is_no_file_of_the_user_alone_is_passed_over(change, folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    program_cache.keep()
    change(*folder.iterdir())
    program_cache.provide(["tfkit_0"], SHAPES)
    assert not in_memory()


def refuse(*_, **__):
    raise OSError(30, "Read-only file system")


def test_a_disk_that_is_only_read(folder, monkeypatch):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    program_cache.keep()
    monkeypatch.setattr(program_cache.os, "utime", refuse)
    monkeypatch.setattr(program_cache.os, "replace", refuse)
    program_cache.provide(["tfkit_0"], SHAPES)
    assert set(in_memory()) == {"a.pb"}
    compile_one("b.pb")
    program_cache.keep()
    assert not in_memory()
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_is_gone(folder):
    program_cache.provide(["tfkit_0"], SHAPES)
    compile_one()
    folder.rmdir()
    program_cache.keep()
    program_cache.provide(["tfkit_0"], SHAPES)
    assert not in_memory()


def test_the_least_recently_used_go_first(folder, monkeypatch):
    other = folder.with_name("another environment")
    other.mkdir()
    for number in range(6):
        file = (other if number == 1 else folder) / f"{number}"
        file.write_bytes(bytes(100))
        os.utime(file, (number, number))
    os.utime(folder / "0", (9, 9))
    monkeypatch.setattr(cache_folder, "_MOST", 350)
    cache_folder.make_room(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "4", "5"]
    assert not list(other.iterdir())


def test_room_is_made_at_the_first_entry_and_after_many_bytes(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(cache_folder, "make_room", looks.append)
    monkeypatch.setattr(program_cache, "_BETWEEN_LOOKS", 100)
    monkeypatch.setattr(zlib, "compress", lambda text, level: bytes(40))
    for number in range(8):
        program_cache._write(folder, f"{number}.pb", b"")
    assert len(looks) == 3  # At 1, 4 and 7.


def test_entries_of_another_form_are_left_out(folder, monkeypatch):
    monkeypatch.undo()
    for entry in (b"", b"\xff" * 20, b"\x0a\x02\x08\x01", b"text"):
        program_cache._write(folder, "a.pb", entry)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("code", [bytes(range(256)), b"'", b'"', b"\"'\\", b"\x01f\n0"])
def test_machine_code_as_a_text(code):
    text = f"value: {xla_entries._quoted(code)}"
    assert text_format.Parse(text, BytesValue()).value == code
