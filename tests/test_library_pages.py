"""Pages of TensorFlow's libraries that only their loading has used leave the process; others stay."""

import ctypes
import io
import mmap
import subprocess
import sys

import numpy as np
import pytest

from tfkit.src.borrowed import library_pages

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/pagemap")

AFTER_TENSORFLOW = """
import re
import tensorflow as tf
def mapped():
    with open("/proc/self/status") as status:
        return int(re.search(r"RssFile:\\s+(\\d+)", status.read())[1])
before = mapped()
import tfkit
assert mapped() < before / 2, (before, mapped())
model = tfkit.Sequential([tfkit.layers.Dense(2, kernel_initializer="ones")])
model.compile("sgd", "mse", jit_compile=True)
model.fit(tf.ones((4, 3)), tf.ones((4, 2)), verbose=0)
assert model.predict(tf.zeros((1, 3)), verbose=0).shape == (1, 2)
"""


@LINUX
def test_importing_tfkit_gives_back_pages_of_tensorflow_which_then_runs() -> None:
    run = subprocess.run(
        [sys.executable, "-c", AFTER_TENSORFLOW], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]


@LINUX
def test_a_mapping_with_changed_pages_is_told_from_one_without(tmp_path) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(bytes(range(256)) * 1024)
    with (
        open(file, "rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY) as memory,
        open("/proc/self/pagemap", "rb", buffering=0) as pages,
    ):
        array = np.frombuffer(memory, np.uint8)
        assert array.sum() == 255 * 128 * 1024  # All pages are present.
        start = array.ctypes.data
        assert library_pages.is_as_in_file(pages, start, len(memory))
        ctypes.memset(start + 5 * mmap.PAGESIZE, 7, 1)
        assert not library_pages.is_as_in_file(pages, start, len(memory))
        assert library_pages.is_as_in_file(pages, start, 5 * mmap.PAGESIZE)
        del array


def test_a_short_answer_of_the_system_gives_nothing_back() -> None:
    assert not library_pages.is_as_in_file(io.BytesIO(bytes(8 * 8)), 0, 9 * mmap.PAGESIZE)


def test_a_system_that_knows_of_no_pages_gives_nothing_back() -> None:
    assert not library_pages.is_as_in_file(io.BytesIO(bytes(8 * 9)), 0, 9 * mmap.PAGESIZE)


@LINUX
def test_libraries_in_a_folder_behind_a_link_are_found(tmp_path, monkeypatch) -> None:
    folder, link = tmp_path / "a folder ü", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    asked = []
    monkeypatch.setattr(library_pages, "is_as_in_file", lambda *mapping: asked.append(mapping))
    with open(folder / "library.so", "w+b") as file:
        file.truncate(16 << 20)
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ):
            library_pages.give_back_library_pages(str(link))
    assert [size for _, _, size in asked] == [16 << 20]


def test_only_large_read_only_mappings_of_files_in_the_folder_are_found() -> None:
    lines = b"""\
7f0000000000-7f0001000000 r--p 00000000 08:01 11    /env/tensorflow/libtensorflow_cc.so.2
7f0001000000-7f0002000000 r-xp 01000000 08:01 11    /env/tensorflow/libtensorflow_cc.so.2
7f0002000000-7f0003000000 rw-p 02000000 08:01 11    /env/tensorflow/libtensorflow_cc.so.2
7f0003000000-7f0003001000 r--p 00000000 08:01 12    /env/tensorflow/python/small.so
7f0004000000-7f0005000000 r--p 00000000 08:01 13    /env/tensorflow_other/library.so
7f0005000000-7f0006000000 r--s 00000000 08:01 14    /env/tensorflow/shared.so
7f0006000000-7f0007000000 r--p 00000000 00:00 0
"""
    size = 1 << 24
    assert list(library_pages.read_only_mappings(io.BytesIO(lines), "/env/tensorflow/")) == [
        (0x7F0000000000, size),
        (0x7F0001000000, size),
    ]
