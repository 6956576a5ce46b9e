"""Reads structures of HDF5's first versions, which `h5py`, and so Keras, writes by default.

As in `hdf5_tree`, each number is compared with the bounds of the file before it
is used, no structure is read twice, and no byte belongs to two names.

Reference: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfkit.src.base import limits

if TYPE_CHECKING:
    from tfkit.src.files.saving.hdf5_tree import Bytes, Tree

_SOFT_LINK = 2
CONTINUATION = 0x10
Link = tuple[bytes, int | None]


# HDF5 File Format Specification, II.A: versions of three structures, sizes of addresses and
# lengths (8 bytes each), parameters of trees, flags; then four addresses, and the entry of the
# root.
def root(superblock: Bytes) -> tuple[int, int]:
    """Returns the base address, and the address of the root's header, from a superblock after its version."""
    superblock.expect(0)
    superblock.expect(0)
    superblock.take(1)
    superblock.expect(0)
    superblock.expect(8)
    superblock.expect(8)
    superblock.take(1 + 2 + 2 + 4)
    base = superblock.number(8)
    superblock.take(8 * 3 + 8)
    return base, superblock.number(8)


# IV.A.1.a: a header says how many messages it has, which may continue in further blocks. Each has
# kind, length, flags and three unused bytes.
def messages(tree: Tree, address: int) -> Iterator[tuple[int, int, bytes]]:
    """Yields kind, flags and bytes of the messages in a header of version 1."""
    head = tree.block(address, 16, b"\1", "a header")
    head.take(1)
    left = head.number(2)
    head.take(4)
    parts = [(address + 16, head.number(4))]
    while parts:
        address, size = parts.pop()
        block = tree.block(address, size, b"", "a header")
        while block.left >= 8 and left:
            left -= 1
            kind, length, flags = block.number(2), block.number(2), block.number(1)
            block.take(3)
            data = block.take(length)
            if kind == CONTINUATION:
                parts.append(
                    (int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little"))
                )
            else:
                yield kind, flags, data


# III.D: the names are in a heap, each ended by a zero byte.
def links(tree: Tree, message: Bytes) -> Iterator[Link]:
    """Yields name and address of a group's members; `None` as address of a link to a name."""
    index, heap = message.number(8), message.number(8)
    head = tree.block(heap, 32, b"HEAP", "a heap of names")
    head.expect(0)
    head.take(3)
    size = head.number(8)
    head.take(8)
    names = tree.block(head.number(8), size, b"", "a heap of names")
    data = names.take(size)
    left = size  # Each byte belongs to at most one name.
    for offset, address, kind in _symbols(tree, index):
        end = data.find(b"\0", offset, offset + limits.NAME.most + 1)
        left -= end - offset + 1
        if end < 0 or left < 0:
            raise tree.error("a name is outside its heap, or in the heap of another name")
        yield data[offset:end], None if kind == _SOFT_LINK else address


# III.A.1 and III.B: a B-tree whose leaves are lists of entries of 40 bytes.
def _symbols(tree: Tree, index: int) -> Iterator[tuple[int, int, int]]:
    """Yields the position of the name, the address of the header, and the kind for each object of a group."""
    left: list[tuple[int, int | None]] = [(index, None)]
    while left:
        address, expected = left.pop()
        head = tree.block(address, 8, b"", "an index of names")
        tree.forget(address)
        signature = head.take(4)
        if signature == b"SNOD":
            head.expect(1)
            head.take(1)
            count = head.number(2)
            node = tree.block(address, 8 + 40 * count, b"SNOD", "a list of names")
            node.take(4)
            for _ in range(count):
                offset, target, kind = node.number(8), node.number(8), node.number(4)
                node.take(4 + 16)
                yield offset, target, kind
            continue
        head.expect(0)
        level, count = head.number(1), head.number(2)
        if signature != b"TREE" or (expected is not None and level != expected):
            raise tree.error("an index of names is of a form that is never written")
        node = tree.block(address, 24 + 16 * count + 8, b"TREE", "an index of names")
        node.take(4 + 16 + 8)
        children = []
        for _ in range(count):
            children.append((node.number(8), level - 1 if level else None))
            node.take(8)
        # As a stack: reversed, so that names come in the order of the file.
        left += reversed(children)
