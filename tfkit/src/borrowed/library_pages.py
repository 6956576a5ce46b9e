"""Returns to the system the memory that only the loading of TensorFlow's libraries has used.

Loading relocates a million addresses and registers all operations and kernels. For that the system maps
310 MB of the libraries' files into the process, most of which no program touches again. They count as the
process's memory until the system needs them for something else. Here the mapping of the pages is undone,
in 20 ms: what a program uses of them is mapped again when it does, from the system's cache of files.
Programs of tfkit have 250 MB less in memory afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

_MAPPING = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ \S+ \d+ +(.+)")
_LEAST = 8 << 20  # Bytes of a mapping that is worth its scan.
_PRESENT, _SWAPPED, _OF_FILE = np.uint64(1 << 63), np.uint64(1 << 62), np.uint64(1 << 61)


def give_back_library_pages(folder: str) -> None:
    """Undoes the mapping of pages of the libraries in a folder, on Linux; elsewhere nothing is done.

    Only pages that equal the file are given back, not pages that the process has changed, such as relocated
    addresses or a debugger's breakpoints.
    """
    with (
        contextlib.suppress(OSError, AttributeError),  # No /proc, no permission, no such function.
        open("/proc/self/maps", "rb") as maps,
        open("/proc/self/pagemap", "rb", buffering=0) as pages,
    ):
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        # The system names files without symbolic links.
        for start, size in read_only_mappings(maps, os.path.join(os.path.realpath(folder), "")):
            if is_as_in_file(pages, start, size):
                advise(start, size, mmap.MADV_DONTNEED)


def read_only_mappings(maps: BinaryIO, folder: str) -> Iterator[tuple[int, int]]:
    """Yields the address and the size of each large read-only mapping of a file inside `folder`."""
    for line in maps:
        match = _MAPPING.match(line)
        if match and match[3].startswith(os.fsencode(folder)):
            start, end = int(match[1], 16), int(match[2], 16)
            if end - start >= _LEAST:
                yield start, end - start


def is_as_in_file(pages: BinaryIO, start: int, size: int) -> bool:
    """Whether pages of a file's mapping are present, and the process has changed none of them.

    A system that does not know of the pages, as an emulator may not, says that none is present.

    Args:
        pages: the file `/proc/self/pagemap`, which has 64 bits for each page.
        start: the mapping's address.
        size: its size in bytes.
    """
    pages.seek(start // mmap.PAGESIZE * 8)
    flags = np.frombuffer(pages.read(size // mmap.PAGESIZE * 8), np.uint64)
    is_changed = (flags & _SWAPPED != 0) | (flags & _PRESENT != 0) & (flags & _OF_FILE == 0)
    is_known = flags.size == size // mmap.PAGESIZE and (flags & _PRESENT != 0).any()
    return bool(is_known and not is_changed.any())
