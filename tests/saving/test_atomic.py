"""Files and folders are replaced whole, whenever their writer dies."""

import contextlib
import errno
import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.threads.together import together
from tfkit.src.files.saving.atomic import alone, atomic_folder, atomic_write, keep_as

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


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("atomic", [atomic_write, atomic_folder])
def test_all_is_on_the_disk_before_it_gets_its_name_and_then_the_name(
    atomic, can_exchange, tmp_path, monkeypatch
):
    """A machine that loses its power has the old file or the new one: this order is all that makes it so."""
    if not can_exchange:
        monkeypatch.setattr("tfkit.src.files.saving.atomic._exchange", lambda one, other: False)
    target = tmp_path / "target"
    events = []
    sync = os.fsync

    def synced(handle):
        status = os.fstat(handle)
        events.append((status.st_ino, status.st_size, target.exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    with atomic(target) as temporary:
        files = [temporary]
        if temporary.is_dir():
            (temporary / "inner").mkdir()
            files = [temporary / "x", temporary / "inner/x"]
        for file in files:
            file.write_text("whole")
        written = [file.stat() for file in files]
        folders = [each.stat() for each in (temporary, temporary / "inner") if each.is_dir()]
    for status in written:
        assert (status.st_ino, len("whole"), False) in events
    for status in folders:
        assert (status.st_ino, False) in [(number, there) for number, _, there in events]
    parent, _, there = events[-1]
    assert there
    assert parent == tmp_path.stat().st_ino


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


@pytest.mark.parametrize("atomic", [atomic_write, atomic_folder])
def test_a_pipe_with_the_name_of_a_temporary_file_stops_nobody(atomic, tmp_path):
    os.mkfifo(tmp_path / ".tfkit.pipe.tmp")
    with atomic(tmp_path / "target") as temporary:
        (temporary / "x" if temporary.is_dir() else temporary).write_text("new")
    assert sorted(os.listdir(tmp_path)) == [".tfkit.pipe.tmp", "target"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_mode(mode, tmp_path, umask):
    target = tmp_path / "target"
    target.write_text("old")
    target.chmod(mode)
    with atomic_write(target) as temporary:
        assert not temporary.stat().st_mode & 0o077  # What is not written yet is for nobody else.
        temporary.write_text("new")
    assert target.stat().st_mode & 0o777 == mode
    assert target.read_text() == "new"


def test_a_folder_keeps_its_mode(tmp_path):
    (tmp_path / "target").mkdir(0o700)
    with atomic_folder(tmp_path / "target"):
        pass
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("atomic", [atomic_write, atomic_folder])
@pytest.mark.parametrize("is_there", [True, False])
def test_what_a_link_leads_to_is_written(atomic, is_there, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere/real", tmp_path / "link"
    link.symlink_to(real)
    for _ in range(1 + is_there):
        with atomic(link) as temporary:
            (temporary / "x" if temporary.is_dir() else temporary).write_text("new")
    assert link.is_symlink()
    assert (real / "x" if real.is_dir() else real).read_text() == "new"
    assert os.listdir(tmp_path / "elsewhere") == ["real"]


def test_what_is_no_file_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for atomic, names in ((atomic_write, ("pipe", "folder")), (atomic_folder, ("pipe", "file"))):
        for name in names:
            message = f"{name}' already exists and is not a"
            with pytest.raises(FileExistsError, match=message), atomic(tmp_path / name):
                raise AssertionError
    message = "/dev/null' already exists and is not a file"
    with pytest.raises(FileExistsError, match=message), atomic_write("/dev/null"):
        raise AssertionError
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]


def test_a_folder_without_an_exchange_of_names(tmp_path, monkeypatch):
    monkeypatch.setattr("tfkit.src.files.saving.atomic._exchange", lambda one, other: False)
    for expected in ("old", "new"):
        with atomic_folder(tmp_path / "target") as temporary:
            (temporary / "x").write_text(expected)
    assert (tmp_path / "target/x").read_text() == "new"
    assert os.listdir(tmp_path) == ["target"]


# --- Several writers ------------------------------------------------------------------------------------


@pytest.fixture
def umask():
    """One that nobody has by chance."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


@pytest.mark.parametrize("atomic", [atomic_write, atomic_folder])
def test_rights_are_those_of_the_umask_which_is_never_changed(atomic, tmp_path, umask, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "umask", calls.append)
    for expected in (0o640, 0o640):
        with atomic(tmp_path / "target") as temporary:
            if temporary.is_dir():
                expected |= 0o110
            else:
                temporary.write_text("x")
        assert (tmp_path / "target").stat().st_mode & 0o777 == expected
    assert not calls


@pytest.mark.parametrize("can_exchange", [True, False])
def test_folders_that_are_written_at_once_are_whole(can_exchange, tmp_path, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr("tfkit.src.files.saving.atomic._exchange", lambda one, other: False)

    def write(index):
        for _ in range(20):
            with atomic_folder(tmp_path / "target") as temporary:
                for name in ("a", "b"):
                    (temporary / name).write_text(str(index))

    together(*(functools.partial(write, index) for index in range(4)))
    assert (tmp_path / "target/a").read_text() == (tmp_path / "target/b").read_text()
    assert os.listdir(tmp_path) == ["target"]


def test_files_that_are_written_at_once_are_whole(tmp_path):
    is_over = threading.Event()

    def write(index):
        for _ in range(30):
            with atomic_write(tmp_path / "target") as temporary:
                temporary.write_text(str(index) * 1000)

    def write_all():
        try:
            together(*(functools.partial(write, index) for index in range(4)))
        finally:
            is_over.set()

    def read():
        while not is_over.is_set():
            with contextlib.suppress(FileNotFoundError):  # Before the first.
                text = (tmp_path / "target").read_text()
                assert len(text) == 1000
                assert len(set(text)) == 1

    together(write_all, read)
    assert os.listdir(tmp_path) == ["target"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_of_threads_and_processes_one_is_alone(tmp_path):
    (tmp_path / "count").write_text("0")

    def count():
        for _ in range(40):
            with alone(tmp_path / "count"):
                number = int((tmp_path / "count").read_text())
                (tmp_path / "count").write_text(str(number + 1))

    child = os.fork()
    if child == 0:
        try:
            count()
        finally:
            os._exit(0)
    together(count, count)
    os.waitpid(child, 0)
    assert int((tmp_path / "count").read_text()) == 3 * 40
    assert os.listdir(tmp_path) == ["count"]


def test_an_error_ends_the_turn(tmp_path):
    with pytest.raises(RuntimeError), alone(tmp_path / "file"):
        raise RuntimeError
    with alone(tmp_path / "file"):
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_what_is_kept_under_a_second_name_stays(tmp_path, monkeypatch):
    for links in (True, False):
        if not links:
            monkeypatch.setattr(os, "link", _no_links)
        for content in ("one", "two"):
            with atomic_write(tmp_path / "file") as temporary:
                temporary.write_text(content)
            if content == "one":
                keep_as(tmp_path / "file", tmp_path / "kept")
        assert (tmp_path / "kept").read_text() == "one"
        assert (tmp_path / "file").read_text() == "two"
    assert sorted(os.listdir(tmp_path)) == ["file", "kept"]


def _no_links(source, target):
    raise OSError("no second names here")


def test_errors_of_a_full_disk_name_the_file_that_is_wanted(tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(b"old")
    for error in (
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EFBIG, "File too large", str(tmp_path / ".tfkit.0.tmp")),
        OSError(errno.EFBIG, "File too large", str(tmp_path / ".tfkit.0.tmp" / "model.keras")),
    ):
        with pytest.raises(OSError, match=r"space|large") as caught, atomic_write(path):
            raise error
        assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="another") as caught, atomic_write(path):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "another")
    assert caught.value.filename == "another"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no folder that takes no files")
def test_a_folder_that_takes_no_files_names_the_file_that_is_wanted():
    with pytest.raises(OSError, match=r"'/proc/model.keras'"), atomic_write("/proc/model.keras"):
        pass


@pytest.mark.parametrize("name", ["model.keras", "model.h5", "model.weights.h5"])
def test_a_model_on_a_full_disk_keeps_its_old_file_and_names_it(name, tmp_path):
    script = f"""
import resource, signal, traceback
import tfkit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = tfkit.Sequential([tfkit.Input((400,)), tfkit.layers.Dense(400)])
save = model.save_weights if "weights" in {name!r} else model.save
save({name!r})
old = open({name!r}, "rb").read()
resource.setrlimit(resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))
try:
    save({name!r})
except OSError as error:
    assert error.filename.endswith({name!r}), error.filename
    assert len(traceback.format_exc().splitlines()) < 14, traceback.format_exc()
    assert open({name!r}, "rb").read() == old
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "refused\n", done.stderr[-2000:]
    assert os.listdir(tmp_path) == [name]
