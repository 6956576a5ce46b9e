"""Seals a file with its length, and a checksum of everything except the data of large arrays.

It is checked before the HDF5 library reads the file, because that library can crash, hang, or read other
values if the structure of a file is damaged. The data of arrays have their own checksums. The seal is in the
"user block", which HDF5 leaves to the application, and after the end of the HDF5 data.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from tfkit.src.files.saving.errors import DamagedFileError, LoadError

MAGIC = b"\x89tfkit\r\n"
BLOCK = 512
CHUNK = 1 << 20
_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIIQQ")  # Magic, version, checksum of the structure, length, ranges.
_RANGE = struct.Struct("<QQ")  # The first byte of a large array, and its number of bytes.

Range = tuple[int, int]


def write(file: io.FileIO, ranges: list[Range]) -> None:
    """Seals a complete file whose first `BLOCK` bytes are free.

    Args:
        file: the file, open for reading and writing.
        ranges: first byte and length of parts with their own checksums.
    """
    ranges = sorted(ranges)
    file.seek(0, os.SEEK_END)
    file.write(b"".join(_RANGE.pack(*one) for one in ranges))
    length = file.tell()
    structure = _structure_checksum(file, ranges, length)
    head = _HEAD.pack(MAGIC, _VERSION, structure, length, len(ranges))
    file.seek(0)
    file.write(_block(head))


def check(file: io.FileIO, path: Path) -> int:
    """Returns the checksum of the structure of a sealed file, after comparing it with the contents.

    Raises:
        DamagedFileError: if the file is damaged, truncated, or not a model file.
        LoadError: if it is an HDF5 file without a seal.
    """
    block = file.read(BLOCK)
    if block.startswith(_HDF5_MAGIC):
        raise LoadError(
            f"File {path} is an HDF5 file, but not of tfkit's format: it does not begin with "
            f"{MAGIC!r}. Expected a file that `model.save()` or `model.save_weights()` wrote."
        )
    if not block.startswith(MAGIC):
        raise DamagedFileError(
            f"File {path} is damaged, or not an HDF5 file of tfkit: it begins with {block[:8]!r}. Expected "
            f"{MAGIC!r} and an HDF5 file that `model.save()` or `model.save_weights()` wrote."
        )
    if len(block) < BLOCK or block != _block(block[: _HEAD.size]):
        raise DamagedFileError(f"File {path} is damaged in its first {BLOCK} bytes.{_REMEDY}")
    _, version, structure, length, count = _HEAD.unpack_from(block)
    if version != _VERSION:
        raise LoadError(
            f"File {path} has a seal of version {version}. Expected {_VERSION}: load it with a newer tfkit."
        )
    size = os.fstat(file.fileno()).st_size
    if size != length:
        raise DamagedFileError(
            f"File {path} is damaged or truncated: it was written with {length:,} bytes and has "
            f"{size:,}.{_REMEDY}"
        )
    ranges = _read_ranges(file, count, length)
    if ranges is None or _structure_checksum(file, ranges, length) != structure:
        raise DamagedFileError(
            f"File {path} is damaged, or another program has changed it: the checksum of its structure is "
            f"not the stored one.{_REMEDY}"
        )
    return structure


_REMEDY = " Load another copy of the file."


def _block(head: bytes) -> bytes:
    return (head + struct.pack("<I", zlib.crc32(head))).ljust(BLOCK, b"\0")


def _read_ranges(file: io.FileIO, count: int, length: int) -> list[Range] | None:
    """Returns the ranges; `None` unless they follow one another inside the file."""
    last = length - count * _RANGE.size
    if last < BLOCK:
        return None
    file.seek(last)
    ranges = [(start, size) for start, size in _RANGE.iter_unpack(file.read(length - last))]
    end = BLOCK
    for start, size in ranges:
        if start < end or start + size > last:
            return None
        end = start + size
    return ranges


def _structure_checksum(file: io.FileIO, ranges: list[Range], length: int) -> int:
    checksum, position = 0, BLOCK
    for start, size in [*ranges, (length, 0)]:
        for chunk in chunks(file, position, start - position):
            checksum = zlib.crc32(chunk, checksum)
        position = start + size
    return checksum


def filled(file: io.FileIO, start: int, memory: memoryview) -> Iterator[memoryview]:
    """Reads a part of a file into memory, and yields it piece by piece; fewer pieces if the file ends."""
    done = 0
    while done < len(memory):
        # Straight into the memory, without a position that threads would share.
        count = os.preadv(file.fileno(), [memory[done : done + CHUNK]], start + done)
        if not count:
            return
        yield memory[done : done + count]
        done += count


def chunks(file: io.FileIO, start: int, size: int) -> Iterator[memoryview]:
    """Yields a part of a file piece by piece, each overwritten by the next; fewer pieces if the file ends."""
    buffer = memoryview(bytearray(min(size, CHUNK)))
    end = start + size
    while start < end:
        count = os.preadv(file.fileno(), [buffer[: end - start]], start)
        if not count:
            return
        yield buffer[:count]
        start += count
