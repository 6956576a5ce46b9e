"""The tree of an HDF5 file, read without the HDF5 library: as h5py reads it, and never beyond the file."""

import os
import random

import h5py
import numpy as np
import pytest

import tfkit
from tfkit.saving import LoadError
from tfkit.src.files.saving import hdf5, hdf5_tree, seal

DTYPES = sorted(hdf5.DTYPES - {"bfloat16"})


def write(path, fill):
    with h5py.File(path, "w", libver="latest", userblock_size=seal.BLOCK) as file:
        fill(file)


def items(path):
    with open(path, "rb", buffering=0) as file:
        tree = hdf5_tree.Tree(file, seal.BLOCK, os.path.getsize(path))
        return {item.path: item for item in tree.items()}


def assert_as_h5py(path):
    found = items(path)
    with h5py.File(path, "r") as file:
        names = [""]
        file.visit(names.append)
        assert sorted(found) == sorted(names)
        for name in names[1:]:
            item, theirs = found[name], file[name]
            assert item.attributes == dict(theirs.attrs.items())
            if isinstance(theirs, h5py.Group):
                assert item.kind == "group"
                continue
            assert item.dataset.shape == theirs.shape
            assert item.dataset.dtype == theirs.dtype.name
            if theirs.size:
                assert item.dataset.offset == theirs.id.get_offset()
                assert item.dataset.size == theirs.nbytes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 5), (1,) * 32])
def test_datasets_of_all_dtypes_and_shapes(dtype, shape, tmp_path):
    def fill(file):
        dataset = file.create_dataset("ä/b", data=np.zeros(shape, dtype))
        dataset.attrs.update(dtype=dtype, crc32=np.uint32(2**32 - 1), below=np.int64(-7))

    write(tmp_path / "m.h5", fill)
    assert_as_h5py(tmp_path / "m.h5")


@pytest.mark.parametrize(("count", "length"), [(8, 3), (9, 3), (300, 40), (700, 900), (2500, 20)])
def test_groups_of_many_names(count, length, tmp_path):
    """Few are stored in the header of the group, more in a heap with one, several and nested blocks."""
    draws = random.Random(count)

    def fill(file):
        for index in range(count):
            name = "".join(draws.choices("abcdé ", k=length)) + str(index)
            file.create_group(f"weights/{name}")

    write(tmp_path / "m.h5", fill)
    assert_as_h5py(tmp_path / "m.h5")


def other_type(file):
    file["t"] = h5py.h5t.py_create(np.dtype("int32"))


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (lambda file: file.__setitem__("soft", h5py.SoftLink("/x")), "link"),
        (lambda file: file.__setitem__("far", h5py.ExternalLink("/etc/passwd", "/x")), "link"),
        (lambda file: file.create_group("a").__setitem__("b", file["a"]), "again"),
        (lambda file: file.__setitem__("a", np.dtype("int32")), "other"),
    ],
)
def test_what_is_neither_group_nor_dataset_is_said(fill, expected, tmp_path):
    write(tmp_path / "m.h5", fill)
    assert expected in {item.kind for item in items(tmp_path / "m.h5").values()}


@pytest.mark.parametrize(
    "options",
    [{"chunks": (2,)}, {"chunks": (2,), "compression": "gzip"}, {"external": [("/tmp/x", 0, 32)]}],
)
def test_data_that_are_not_one_piece_have_no_size(options, tmp_path):
    write(tmp_path / "m.h5", lambda file: file.create_dataset("d", (8,), "float32", **options))
    assert items(tmp_path / "m.h5")["d"].dataset.size == -1


def changed(path, old, new, before=0):
    """Puts other bytes in the place of some, or of those so many before them."""
    data = bytearray(path.read_bytes())
    at = data.index(old) - before
    data[at : at + len(new)] = new
    path.write_bytes(data)


def test_a_name_with_a_slash_is_refused(tmp_path):
    """It would read as a path, and stand for another object."""
    write(tmp_path / "m.h5", lambda file: file.create_group("aXb"))
    changed(tmp_path / "m.h5", b"aXb", b"a/b")
    with pytest.raises(hdf5_tree.TreeError, match="an object has the name 'a/b'"):
        items(tmp_path / "m.h5")


@pytest.mark.parametrize("kind", [2, 3, 9])
def test_a_dataspace_of_another_kind_is_refused_or_has_no_shape(kind, tmp_path):
    """A simple one (1) becomes one of nothing (2), or what there is not."""
    write(tmp_path / "m.h5", lambda file: file.create_dataset("d", (77,), "float32"))
    head = bytes([2, 1, 1])  # version, axes, and that largest sizes follow
    size = (77).to_bytes(8, "little")
    changed(tmp_path / "m.h5", head + b"\x01" + size, head + bytes([kind]) + size)
    if kind > 2:
        with pytest.raises(hdf5_tree.TreeError, match="a dataspace is of a form"):
            items(tmp_path / "m.h5")
    else:
        assert items(tmp_path / "m.h5")["d"].dataset.shape is None


@pytest.mark.parametrize(("message", "kind"), [(0x01, "other"), (0x08, "other"), (0x0C, "group")])
def test_a_group_that_has_data_too_is_neither(message, kind, tmp_path):
    """A dataspace (1) or a layout (8) in the place of an attribute (12), 13 bytes before its name."""
    write(tmp_path / "m.h5", lambda file: file.create_group("g").attrs.__setitem__("marked", 1))
    changed(tmp_path / "m.h5", b"marked", bytes([message]), before=13)
    assert items(tmp_path / "m.h5")["g"].kind == kind


@pytest.mark.parametrize("value", [np.zeros(3), "text" * 9, b"bytes", 5, 2.5, True, ["a", "b"]])
def test_attributes_that_are_strings_and_integers_are_read_and_others_left_out(value, tmp_path):
    write(tmp_path / "m.h5", lambda file: file.attrs.__setitem__("a", value))
    found = items(tmp_path / "m.h5")[""].attributes
    text = value.decode() if isinstance(value, bytes) else value
    assert found == ({"a": text} if type(value) in (str, bytes, int) else {})


def reseal(path, data):
    """Writes bytes that were changed, with a seal that fits."""
    path.write_bytes(data)
    version = seal._HEAD.unpack(data[: seal._HEAD.size])[1]
    with open(path, "r+b", buffering=0) as file:
        structure = seal._structure_checksum(file, [], len(data))
        file.seek(0)
        file.write(seal._block(seal._HEAD.pack(seal.MAGIC, version, structure, len(data), 0)))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("soft", h5py.SoftLink("/x"), "is a link, which could lead to another file"),
        ("type", np.dtype("int32"), "is neither group nor dataset"),
        ("bare", np.ones(3, "float32"), "has the dtype float32, and says 'None'"),
        ("unsealed", np.ones(3, "float32"), "has no checksum"),
    ],
)
def test_a_sealed_file_with_something_else_is_refused_by_its_path(name, value, why, tmp_path):
    path = tmp_path / "m.weights.h5"
    tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)]).save_weights(path)
    with h5py.File(path, "r+") as file:
        file[f"more/{name}"] = value
        if name == "unsealed":
            file[f"more/{name}"].attrs["dtype"] = "float32"
    reseal(path, path.read_bytes())
    with pytest.raises(LoadError, match=f"`more/{name}` {why}"):
        hdf5.Reader(path)


@pytest.mark.parametrize("num_layers", [2, 12])
def test_no_change_to_a_structure_does_harm(num_layers, tmp_path):
    """500 files with other numbers in their structures, sealed again: each is read or refused, at once."""
    model = tfkit.Sequential(
        [tfkit.Input((4,)), *(tfkit.layers.Dense(4) for _ in range(num_layers))]
    )
    model.save_weights(tmp_path / "m.weights.h5")
    whole = (tmp_path / "m.weights.h5").read_bytes()
    marks = (b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"GCOL", b"\x89HDF\r")
    places = [at for at in range(len(whole)) if whole.startswith(marks, at)]
    draws = random.Random(num_layers)
    outcomes = set()
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(draws.choice([1, 1, 2, 4])):
            width = draws.choice([1, 1, 2, 4, 8])
            at = min(draws.choice(places) + draws.randrange(160), len(data) - width)
            numbers = [0, 1, 2 ** (8 * width) - 1, draws.randrange(len(data)), draws.choice(places)]
            data[at : at + width] = (draws.choice(numbers) % 2 ** (8 * width)).to_bytes(
                width, "little"
            )
        reseal(tmp_path / "x.weights.h5", data)
        try:
            with hdf5.Reader(tmp_path / "x.weights.h5") as reader:
                outcomes.add(bool(reader.shapes("weights")))
        except LoadError as error:
            outcomes.add(type(error))
    assert {True, LoadError} & outcomes
    assert hdf5.DamagedFileError in outcomes


# --- What is made to take more than the file has ---------------------------------------------------------


def old_items(path):
    with open(path, "rb", buffering=0) as file:
        tree = hdf5_tree.Tree(file, 0, os.path.getsize(path), old=True)
        return {item.path: item for item in tree.items()}


@pytest.mark.parametrize("dtype", DTYPES)
def test_files_of_the_first_versions(dtype, tmp_path):
    """As Keras writes them: groups with few and with many names, texts of any length, lists of texts."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for shape in ((), (3,), (2, 0, 5)):
            file[f"ä/{len(shape)}"] = np.zeros(shape, dtype)
        for index in range(700):
            file.create_group(f"many/{index}")
        file.attrs.update(long="é" * 100_000, names=np.array([b"a", b"bcd"]), count=np.int64(-3))
        file["many"].attrs.update(none=np.zeros(0), texts=["ä", ""], short=np.bytes_(b"abc"))
    found = old_items(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5", "r") as file:
        names = [""]
        file.visit(names.append)
        assert sorted(found) == sorted(names)
        for name in names[1:]:
            theirs, mine = file[name], found[name].dataset
            if isinstance(theirs, h5py.Dataset):
                assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype.name)
                assert not theirs.size or mine.offset == theirs.id.get_offset()
    assert found[""].attributes == {"long": "é" * 100_000, "names": ["a", "bcd"], "count": -3}
    assert found["many"].attributes == {"none": [], "texts": ["ä", ""], "short": "abc"}


def test_an_old_index_of_names_whose_levels_do_not_go_down_is_refused(tmp_path):
    """400 names need two levels: the upper one says of itself that it is the third."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for index in range(400):
            file.create_group(f"g{index}")
    assert len(old_items(tmp_path / "m.h5")) == 401
    changed(tmp_path / "m.h5", b"TREE\x00\x01", b"TREE\x00\x02")
    with pytest.raises(hdf5_tree.TreeError, match="an index of names is of a form"):
        old_items(tmp_path / "m.h5")


def test_a_text_stands_for_one_attribute_alone(tmp_path):
    """Otherwise a thousand attributes of one long text would take a thousand times its memory."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["one"] = "x" * 777
        file.attrs["two"] = "y" * 777
    data = (tmp_path / "m.h5").read_bytes()
    size = (777).to_bytes(4, "little")
    first = data.index(size)
    second = data.index(size, first + 4)
    (tmp_path / "m.h5").write_bytes(data[:second] + data[first : first + 16] + data[second + 16 :])
    with pytest.raises(hdf5_tree.TreeError, match="belongs to another attribute"):
        old_items(tmp_path / "m.h5")


@pytest.mark.parametrize("old", [False, True])
def test_long_paths_of_many_objects_are_refused(old, tmp_path):
    options = {} if old else {"libver": "latest", "userblock_size": seal.BLOCK}
    with h5py.File(tmp_path / "m.h5", "w", **options) as file:
        group = file.create_group("/".join(["g" * 2_000] * 100))
        for index in range(60):
            group.create_group(str(index))
    with pytest.raises(hdf5_tree.TreeError, match="paths together are longer"):
        (old_items if old else items)(tmp_path / "m.h5")
