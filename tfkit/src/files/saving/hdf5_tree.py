"""Reads the tree of groups and datasets in an HDF5 file without the HDF5 library.

Anyone who crafts a file can compute its seal, and the HDF5 library crashes or never ends on some crafted
structures. Therefore the few structures that `h5py` makes in tfkit's files are read here, and each number is
compared with the bounds of the file before it is used; anything else is refused. No structure is read twice,
so the time is linear in the size of the file.

Reference: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

import bisect
import dataclasses
import io
import struct
from collections.abc import Callable, Iterator
from typing import NoReturn

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.files.saving import hdf5_old

_UNDEFINED = 2**64 - 1
# Kinds of messages in the header of an object.
_DATASPACE, _LINK_INFO, _DATATYPE, _FILL, _LINK, _EXTERNAL = 0x01, 0x02, 0x03, 0x05, 0x06, 0x07
_LAYOUT, _GROUP_INFO, _FILTERS, _ATTRIBUTE, _CONTINUATION = 0x08, 0x0A, 0x0B, 0x0C, 0x10
_SYMBOLS, _ATTRIBUTE_INFO, _REFERENCES = 0x11, 0x15, 0x16
_PASSED_OVER = {0x00, 0x04, _FILL, _GROUP_INFO, 0x0E, 0x12, _REFERENCES}
_KNOWN = {_DATASPACE, _DATATYPE, _LAYOUT, _FILTERS, _EXTERNAL, _LINK, _LINK_INFO, _SYMBOLS}
_KNOWN |= {_ATTRIBUTE, _ATTRIBUTE_INFO}
_HARD_LINK = 0
_FIXED, _FLOAT, _STRING, _OPAQUE, _COMPOUND, _ENUM, _VARIABLE = 0, 1, 3, 5, 6, 8, 9
Attribute = str | int | list[str]


class TreeError(ValueError):
    """A structure that is damaged, or that tfkit never writes."""


class Bytes:
    """A structure of the file, read from beginning to end."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    @property
    def left(self) -> int:
        """The number of bytes that have not been read."""
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        """Returns the next bytes."""
        if not 0 <= size <= self.left:
            raise TreeError(f"{self._what} is shorter than it says")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, size: int) -> int:
        """Returns the next bytes as a number."""
        return int.from_bytes(self.take(size), "little")

    def expect(self, *numbers: int) -> int:
        """Returns the next byte, which must be one of these."""
        found = self.number(1)
        if found not in numbers:
            raise TreeError(f"{self._what} is of a form that tfkit does not write ({found})")
        return found


@dataclasses.dataclass(frozen=True)
class Dataset:
    """An array in the file.

    Attributes:
        shape: its sizes, `None` for a dataset without values.
        dtype: NumPy's name of its type; `None` for a type that tfkit does not write.
        offset: its first byte in the file.
        size: its number of bytes; -1 if it is not stored contiguously.
    """

    shape: tuple[int, ...] | None
    dtype: str | None
    offset: int
    size: int


@dataclasses.dataclass(frozen=True)
class Item:
    """An object in the file.

    Attributes:
        path: its names from the root, with slashes between; empty for the root.
        depth: the number of groups that contain it.
        kind: `"group"`, `"dataset"`, `"link"` to a name or file, `"again"` for a second name of an object,
            and `"other"`.
        attributes: its strings, lists of strings and integers by name; others are left out.
        dataset: of a dataset.
    """

    path: str
    depth: int
    kind: str
    attributes: dict[str, Attribute]
    dataset: Dataset | None = None


class Tree:
    """The objects of an HDF5 file.

    Args:
        file: the file, open for reading.
        base: where HDF5's part begins, after the user block.
        length: the bytes of the file.
        old: whether it may have the structures of HDF5's first versions, as Keras's files have.
    """

    error = TreeError

    def __init__(self, file: io.RawIOBase, base: int, length: int, old: bool = False) -> None:
        self._file, self._base, self._length = file, base, length
        self.old = old
        self._seen: set[int] = set()
        self._heaps: dict[int, dict[int, bytes]] = {}

    def items(self) -> Iterator[Item]:
        """Yields all objects; a group comes before its members.

        Raises:
            TreeError: for a structure that is damaged, or that tfkit never writes.
        """
        size = 96 if self.old else 48
        superblock = self.block(0, size, b"\x89HDF\r\n\x1a\n", "the superblock")
        if superblock.expect(*((0, 2, 3) if self.old else (2, 3))) == 0:
            base, root = hdf5_old.root(superblock)
        else:
            base, root = self._root(superblock)
        if base != self._base:
            raise TreeError("the superblock is of a form that tfkit does not write")
        left = [("", 0, root)]
        count = 0
        # Deep groups with long names have long paths for few bytes of the file.
        room = limits.PATHS.most + limits.PATHS_FOR_BYTE * self._length
        while left:
            count += 1
            if excess := limits.ITEMS.excess(count + len(left)):
                raise TreeError(f"it has {excess}")
            path, depth, address = left.pop()
            if address in self._seen:
                yield Item(path, depth, "again", {})
                continue
            header = _Header(self, address)
            yield header.item(path, depth)
            links = sorted(header.links(), key=lambda link: link[0], reverse=True)
            if len({name for name, _ in links}) < len(links):
                raise TreeError("a group has a name twice")
            if depth > limits.DEPTH.most:
                continue  # The caller refuses it.
            for name, target in links:
                room -= len(path) + len(name) + 1
                if room < 0:
                    raise TreeError("its paths together are longer than the file accounts for")
                full = f"{path}/{name}" if path else name
                if target is None:
                    yield Item(full, depth + 1, "link", {})
                else:
                    left.append((full, depth + 1, target))

    def _root(self, superblock: Bytes) -> tuple[int, int]:
        """Returns the base address, and the address of the root's header, from a superblock."""
        if (superblock.expect(8), superblock.expect(8)) and superblock.number(1) & ~0x05:
            raise TreeError("the superblock has unknown flags")
        base, extension, _, root = (superblock.number(8) for _ in range(4))
        if extension != _UNDEFINED:
            raise TreeError("the superblock is of a form that tfkit does not write")
        return base, root

    def forget(self, address: int) -> None:
        """Allows a structure to be read again, after only its size was read."""
        self._seen.discard(address)

    def block(self, address: int, size: int, signature: bytes, what: str) -> Bytes:
        """Returns the bytes of a structure that follow its signature."""
        # So no structure is read twice, and loops of references end.
        if address in self._seen:
            raise TreeError(f"{what} is a part of two objects")
        self._seen.add(address)
        if size > limits.STRUCTURE.most or address + size + self._base > self._length:
            raise TreeError(f"{what} is outside of the file")
        self._file.seek(self._base + address)
        block = Bytes(_read(self._file, size), what)
        if block.take(len(signature)) != signature:
            raise TreeError(f"{what} does not begin as it should")
        return block

    def string(self, heap: int, index: int, size: int) -> bytes:
        """Returns a string of variable length, as older versions of tfkit and Keras write them."""
        if heap not in self._heaps:
            head = self.block(heap, 16, b"GCOL", "a heap of strings")
            head.expect(1)
            head.take(3)
            self.forget(heap)
            block = self.block(heap, head.number(8), b"GCOL", "a heap of strings")
            block.take(12)
            found = self._heaps[heap] = {}
            while block.left >= 16 and (number := block.number(2)):
                block.take(6)
                length = block.number(8)
                found[number] = block.take(length)
                # Strings are padded to 8 bytes; the last one may end with the heap.
                block.take(min(-length % 8, block.left))
        if not size:
            return b""
        # Each string is accepted once: many attributes with one long string could use any amount of memory.
        text = self._heaps[heap].pop(index, None)
        if text is None:
            raise TreeError("a string of an attribute is missing, or belongs to another attribute")
        return text[:size]


def checked_items(tree: Tree, size: int, refuse: Callable[[str, str], NoReturn]) -> Iterator[Item]:
    """Yields the groups and datasets of a file, and refuses anything else, before any data is read.

    Links lead to other files; an object with two names, or storage that is compressed, virtual, external
    or never written, lets a small file demand any amount of memory.

    Args:
        tree: the file.
        size: its number of bytes.
        refuse: raises an error about an item, by its path and what is wrong with it.
    """
    left = size
    for item in tree.items():
        if item.kind == "link":
            refuse(item.path, "is a link, which could lead to another file")
        if item.kind == "again":
            refuse(item.path, "is a second name of an object in the file")
        if item.depth > limits.DEPTH.most:
            refuse(item.path, f"is more than {limits.DEPTH.most} groups deep")
        if item.dataset is None and item.kind != "group":
            refuse(item.path, "is neither group nor dataset")
        yield item
        # Several datasets may point to the same bytes, and declare terabytes together.
        left -= 0 if item.dataset is None else item.dataset.size
        if left < 0:
            refuse(item.path, "declares more data than there is in the file")


class _Header:
    """The header of an object, split into its messages.

    Args:
        tree: the file.
        address: its position in the file.
    """

    def __init__(self, tree: Tree, address: int) -> None:
        self._tree = tree
        self._messages: dict[int, list[bytes]] = {}
        if tree.old and self._is_old(address):
            for kind, flags, data in hdf5_old.messages(tree, address):
                self._add(kind, flags, data)
            return
        # IV.A.1.b: the length of the header comes after optional times and limits, of at most 34
        # bytes.
        head = tree.block(address, 34 if address + 34 <= tree._length else 16, b"OHDR", "a header")
        head.expect(2)
        flags = head.number(1)
        # Signature, version and flags; four times; two limits for attributes.
        prefix = 6 + 16 * bool(flags & 0x20) + 4 * bool(flags & 0x10)
        head.take(prefix - 6)
        width = 1 << (flags & 3)
        size = head.number(width)
        tree.forget(address)
        first = tree.block(address, prefix + width + size, b"OHDR", "a header")
        first.take(prefix + width - 4)
        # Each message may have the number of its creation.
        self._order = 2 if flags & 0x04 else 0
        continuations = self._read(first)
        while continuations:
            address, length = continuations.pop()
            block = tree.block(address, length, b"OCHK", "a part of a header")
            # The last four bytes are a checksum, which the seal makes unnecessary.
            continuations += self._read(Bytes(block.take(max(0, block.left - 4)), "a header"))

    def _read(self, block: Bytes) -> list[tuple[int, int]]:
        continuations = []
        while block.left >= 4 + self._order:
            kind, size, flags = block.number(1), block.number(2), block.number(1)
            block.take(self._order)
            data = block.take(size)
            if kind == _CONTINUATION:
                message = Bytes(data, "a header")
                continuations.append((message.number(8), message.number(8)))
            else:
                self._add(kind, flags, data)
        return continuations

    def _add(self, kind: int, flags: int, data: bytes) -> None:
        # A shared message is a reference to another object: more ways to read bytes twice.
        if flags & 0x02:
            raise TreeError("a header has a message that is shared with another object")
        found = self._messages.setdefault(kind, [])
        found.append(data)
        if kind == _ATTRIBUTE and (excess := limits.ATTRIBUTES.excess(len(found))):
            raise TreeError(f"an object has {excess}")

    def _is_old(self, address: int) -> bool:
        first = self._tree.block(address, 4, b"", "a header").take(4)
        self._tree.forget(address)
        return first != b"OHDR"

    def _one(self, kind: int) -> bytes | None:
        found = self._messages.get(kind, [])
        if len(found) > 1:
            raise TreeError("an object has two messages of a kind of which it may have one")
        return found[0] if found else None

    def item(self, path: str, depth: int) -> Item:
        attributes = dict(filter(None, map(self._attribute, self._messages.get(_ATTRIBUTE, []))))
        info = self._one(_ATTRIBUTE_INFO)
        if info is not None:
            block = Bytes(info, "a header")
            block.expect(0)
            block.take(2 * (block.number(1) & 1))
            if block.number(8) != _UNDEFINED:
                raise TreeError("an object has more attributes than tfkit writes")
        if self._messages.keys() - _KNOWN - _PASSED_OVER:
            raise TreeError("an object has messages that tfkit does not write")
        is_group = bool({_LINK_INFO, _SYMBOLS} & self._messages.keys())
        if is_group and not {_DATASPACE, _LAYOUT} & self._messages.keys():
            return Item(path, depth, "group", attributes)
        if {_DATASPACE, _DATATYPE, _LAYOUT} <= self._messages.keys() and not is_group:
            return Item(path, depth, "dataset", attributes, self._dataset())
        return Item(path, depth, "other", attributes)

    def _dataset(self) -> Dataset:
        shape = _shape(Bytes(self._one(_DATASPACE) or b"", "a dataspace"), self._tree.old)
        dtype = _dtype(Bytes(self._one(_DATATYPE) or b"", "a datatype"))
        layout = Bytes(self._one(_LAYOUT) or b"", "a layout")
        # Class 1: contiguous. Chunks and compact data would need additional code, and compressed
        # data may be of any size.
        is_plain = layout.expect(3, 4) and layout.number(1) == 1
        if not is_plain or self._messages.keys() & {_FILTERS, _EXTERNAL}:
            return Dataset(shape, dtype, 0, -1)
        offset, size = layout.number(8), layout.number(8)
        if offset == _UNDEFINED:  # Nothing was written.
            return Dataset(shape, dtype, 0, 0)
        if offset + size + self._tree._base > self._tree._length:
            raise TreeError("a dataset is outside of the file")
        return Dataset(shape, dtype, offset + self._tree._base, size)

    def _attribute(self, message: bytes) -> tuple[str, Attribute] | None:
        """Returns a string, a list of strings or an integer; `None` for anything else."""
        block = Bytes(message, "an attribute")
        version = block.expect(*((1, 2, 3) if self._tree.old else (3,)))
        block.expect(0)
        sizes = [block.number(2) for _ in range(3)]
        if version == 3:
            block.expect(0, 1)
        parts = []
        for size in sizes:
            parts.append(block.take(size))
            if version == 1:
                block.take(-size % 8)  # Version 1 pads to 8 bytes.
        name = _text(parts[0].rstrip(b"\0"), "an attribute")
        shape = _shape(Bytes(parts[2], "a dataspace"), self._tree.old)
        if shape is None or len(shape) > 1 or (shape and not self._tree.old):
            return None
        if shape == (0,):
            return name, []
        datatype = Bytes(parts[1], "a datatype")
        # The lower four bits are the class, the upper ones the version.
        head = datatype.number(1) & 15
        flags, width = datatype.number(3), datatype.number(4)
        if head not in (_FIXED, _STRING, _VARIABLE) or (head == _VARIABLE and width != 16):
            return None
        count = shape[0] if shape else 1
        if not 0 < count * width <= block.left:
            raise TreeError("an attribute is shorter than it says")
        values = [block.take(width) for _ in range(count)]
        if head == _FIXED:
            number = int.from_bytes(values[0], "little", signed=bool(flags & 8))
            return None if shape or flags & 1 or width > 8 else (name, number)
        texts = values if head == _STRING else [self._long_text(value) for value in values]
        found = [_text(text.rstrip(b"\0"), "an attribute") for text in texts]
        return name, found if shape else found[0]

    def _long_text(self, value: bytes) -> bytes:
        """Returns a string of variable length whose position is in an attribute."""
        block = Bytes(value, "an attribute")
        size = block.number(4)
        if not self._tree.old and (excess := limits.ATTRIBUTE.excess(size)):
            raise TreeError(f"an attribute has {excess}")
        return self._tree.string(block.number(8), block.number(4), size)

    def links(self) -> Iterator[tuple[str, int | None]]:
        """Yields name and address of a group's members; `None` as address of a link to a name or file."""
        for message in self._messages.get(_LINK, []):
            yield _link(message)
        symbols = self._one(_SYMBOLS)
        if symbols is not None and self._tree.old:
            for name, address in hdf5_old.links(self._tree, Bytes(symbols, "a group")):
                yield _name(name), address
        info = self._one(_LINK_INFO)
        if info is not None:
            block = Bytes(info, "a group")
            block.expect(0)
            flags = block.number(1)
            block.take(8 * (flags & 1))
            heap, index = block.number(8), block.number(8)
            if heap != _UNDEFINED:
                yield from map(_link, _Heap(self._tree, heap).objects(index))


class _Heap:
    """The links of a group that has many: a heap of messages, and a tree of their positions in it."""

    def __init__(self, tree: Tree, address: int) -> None:
        self._tree = tree
        head = tree.block(address, 146, b"FRHP", "a heap")
        head.expect(0)
        self._id_size, filters = head.number(2), head.number(2)
        head.take(1)
        largest = head.number(4)
        head.take(8 * 12)
        width, first, largest_block = head.number(2), head.number(8), head.number(8)
        bits = head.number(2)
        head.take(2)
        root, rows = head.number(8), head.number(2)
        if filters or not 8 <= bits <= 64 or not (0 < width <= 1024) or self._id_size != 7:
            raise TreeError("a heap is of a form that tfkit does not write")
        if not 0 < first <= largest_block <= limits.STRUCTURE.most:
            raise TreeError("a heap is of a form that tfkit does not write")
        self._width, self._first, self._largest_block = width, first, largest_block
        # Positions in the heap have as many bytes as the largest one needs.
        self._offset_size = -(-bits // 8)
        self._length_size = max(1, -(-min(largest, largest_block).bit_length() // 8))
        # The position of each block in the heap, and its bytes.
        self._blocks: list[tuple[int, bytes]] = []
        if root != _UNDEFINED and rows == 0:
            self._read_direct(root, first)
        elif root != _UNDEFINED:
            self._read_indirect(root, rows)
        self._blocks.sort()
        self._begins = [begin for begin, _ in self._blocks]

    def _read_direct(self, address: int, size: int) -> None:
        block = self._tree.block(address, size, b"FHDB", "a block of a heap")
        block.expect(0)
        block.take(8)
        begin = block.number(self._offset_size)
        head = 13 + self._offset_size
        self._blocks.append((begin + head, block.take(size - head)))

    def _read_indirect(self, address: int, rows: int) -> None:
        size = 13 + self._offset_size + 8 * rows * self._width
        block = self._tree.block(address, size, b"FHIB", "a block of a heap")
        if rows > 64:
            raise TreeError("a heap is of a form that tfkit does not write")
        block.expect(0)
        block.take(8 + self._offset_size)
        for row in range(rows):
            # The first two rows have blocks of the first size; from there on it doubles with each row.
            length = self._first << max(0, row - 1)
            for _ in range(self._width):
                child = block.number(8)
                if child == _UNDEFINED:
                    continue
                if length <= self._largest_block:
                    self._read_direct(child, length)
                else:
                    self._read_indirect(child, (length // (self._first * self._width)).bit_length())

    # III.A.2: a B-tree of version 2, whose records are hashes of names and positions in the heap.
    def objects(self, index: int) -> Iterator[bytes]:
        """Yields the messages in the heap that a tree of names refers to."""
        head = self._tree.block(index, 38, b"BTHD", "an index of names")
        head.expect(0)
        head.expect(5)
        size, record_size, depth = head.number(4), head.number(2), head.number(2)
        head.take(2)
        root, count = head.number(8), head.number(2)
        if record_size != 4 + self._id_size or not 64 <= size <= limits.STRUCTURE.most or depth > 8:
            raise TreeError("an index of names is of a form that tfkit does not write")
        # The largest numbers of records in a node of each level, and in all nodes below it: HDF5 stores
        # numbers of records in as many bytes as these need.
        most = [(size - 10) // record_size]
        below = [most[0]]
        widths = [0]
        for level in range(1, depth + 1):
            pointer = (
                8 + _width_of(most[level - 1]) + (_width_of(below[level - 1]) if level > 1 else 0)
            )
            widths.append(pointer)
            most.append((size - 10 - pointer) // (record_size + pointer))
            below.append((most[level] + 1) * below[level - 1] + most[level])
        left = [(root, count, depth)] if root != _UNDEFINED else []
        while left:
            address, count, level = left.pop()
            if count > most[level]:
                raise TreeError("an index of names is of a form that tfkit does not write")
            signature = b"BTIN" if level else b"BTLF"
            node = self._tree.block(address, size, signature, "an index of names")
            node.expect(0)
            node.expect(5)
            for _ in range(count):
                node.take(4)
                yield self._object(Bytes(node.take(self._id_size), "a name"))
            for _ in range(count + 1 if level else 0):
                child = node.number(8)
                records = node.number(_width_of(most[level - 1]))
                node.take(_width_of(below[level - 1]) if level > 1 else 0)
                left.append((child, records, level - 1))

    def _object(self, reference: Bytes) -> bytes:
        reference.expect(0)
        offset = reference.number(self._offset_size)
        length = reference.number(min(self._length_size, reference.left))
        number = bisect.bisect_right(self._begins, offset) - 1
        if number >= 0:
            begin, data = self._blocks[number]
            if offset + length <= begin + len(data):
                return data[offset - begin : offset - begin + length]
        raise TreeError("a name is outside of its heap")


def _width_of(largest: int) -> int:
    """Returns the number of bytes that integers up to this one need."""
    return max(1, -(-largest.bit_length() // 8))


def _read(file: io.RawIOBase, size: int) -> bytes:
    parts = []
    while size > 0:
        part = file.read(size)
        if not part:
            raise TreeError("the file ends in the middle of a structure")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise TreeError(f"{what} has a name or text that is not UTF-8") from None


def _link(message: bytes) -> tuple[str, int | None]:
    block = Bytes(message, "a link")
    block.expect(1)
    flags = block.number(1)
    kind = block.number(1) if flags & 0x08 else _HARD_LINK
    block.take(8 if flags & 0x04 else 0)
    block.take(1 if flags & 0x10 else 0)
    name = _name(block.take(block.number(1 << (flags & 3))))
    return name, block.number(8) if kind == _HARD_LINK else None


def _name(data: bytes) -> str:
    if excess := limits.NAME.excess(len(data)):
        raise TreeError(f"an object has a name of {excess}")
    name = _text(data, "a link")
    if not name or "/" in name:
        raise TreeError(f"an object has the name {quoted(name)}")
    return name


def _shape(block: Bytes, old: bool) -> tuple[int, ...] | None:
    version = block.expect(*((1, 2) if old else (2,)))
    rank, flags, kind = block.number(1), block.expect(0, 1), block.number(1)
    if version == 1:
        # It has no kind: a scalar is an array without axes.
        block.take(4)
        kind = int(rank > 0)
    if kind > 2:
        raise TreeError("a dataspace is of a form that tfkit does not write")
    if rank > limits.AXES.most:
        raise TreeError(f"a dataset has {rank} axes. Expected at most {limits.AXES.most}")
    if kind == 2:
        return None
    sizes = tuple(block.number(8) for _ in range(rank))
    if flags and any(block.number(8) != size for size in sizes):
        raise TreeError("a dataset can grow, which datasets of tfkit cannot")
    return sizes


# Flags and properties of IEEE's floats by size: positions and sizes of sign, exponent and fraction, and the
# bias.
_FLOATS = {
    2: (0x0F20, "000010000a05000a0f000000"),
    4: (0x1F20, "00002000170800177f000000"),
    8: (0x3F20, "00004000340b0034ff030000"),
}

_BOOL = (_ENUM, 1, "10080000010000000000080046414c53450054525545000001")
_COMPLEX = (
    "72000011201f000400000000002000170800177f00000069000411201f000400000000002000170800177f000000"
)
_WIDE_COMPLEX = (
    "72000011203f000800000000004000340b0034ff03000069000811203f000800000000004000340b0034ff030000"
)
_OLD_BOOL = (_ENUM, 1, "10080000010000000000080046414c5345000000545255450000000000010000")


def _old_pair(size: int, real: str) -> str:
    """Returns the properties of a complex type in HDF5's first versions, whose members could be arrays."""
    members = (b"r", 0), (b"i", size)
    heads = [
        name.ljust(8, b"\0") + offset.to_bytes(4, "little") + bytes(28) for name, offset in members
    ]
    return "".join(head.hex() + real for head in heads)


# Class, size and properties of types that h5py writes: an enumeration, and pairs of floats `r` and `i`.
_SPECIAL = {
    _OLD_BOOL: "bool",
    (_COMPOUND, 8, _old_pair(4, "11201f000400000000002000170800177f000000")): "complex64",
    (_COMPOUND, 16, _old_pair(8, "11203f000800000000004000340b0034ff030000")): "complex128",
    _BOOL: "bool",
    (_COMPOUND, 8, _COMPLEX): "complex64",
    (_COMPOUND, 16, _WIDE_COMPLEX): "complex128",
}


def _dtype(block: Bytes) -> str | None:
    """Returns NumPy's name of a type; `None` for one that tfkit does not write."""
    head, flags, size = block.number(1), block.number(3), block.number(4)
    kind = head & 15
    if kind == _FIXED and size in (1, 2, 4, 8) and flags in (0, 8):
        whole = block.take(4) == struct.pack("<HH", 0, 8 * size)  # All bits are significant.
        return f"{'' if flags else 'u'}int{8 * size}" if whole else None
    if kind == _OPAQUE and size == 2:
        return "opaque16"
    if kind == _FLOAT and (flags, block.take(12).hex()) == _FLOATS.get(size):
        return f"float{8 * size}"
    return _SPECIAL.get((kind, size, block.take(block.left).hex()))
