"""Files that are cut off, or have one byte changed: a load error each time, and nothing is loaded."""

import h5py
import numpy as np
import pytest

import tfkit
from tfkit import layers
from tfkit.src.files.saving import hdf5, hdf5_writing, seal

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


@pytest.fixture(scope="module")
def model():
    """Has an array that is large enough for a checksum of its own, and an optimizer."""
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(5000), layers.Dense(4)])
    model.compile("adam", "mse", jit_compile=False)
    model.fit(X, X, verbose=0)
    return model


@pytest.fixture(scope="module")
def files(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage")
    model.save(folder / "whole.h5")
    model.save_weights(folder / "weights.weights.h5")
    model.save_weights(folder / "shards.weights.json", max_shard_size=1e-4)
    return folder


def check_refused(model, path, data, position):
    """Loading `data` in the place of a file is a load error, and changes nothing."""
    path.write_bytes(data)
    before = [variable.numpy() for variable in model.variables]
    index = path.parent / "shards.weights.json"
    if path.name == "whole.h5":  # Whose weights may be whole where a slot is not.
        with pytest.raises(tfkit.saving.LoadError, match=str(path)):
            tfkit.models.load_model(path)
        return
    with pytest.raises(tfkit.saving.LoadError, match=path.name):
        model.load_weights(index if path.name.startswith("shards") else path)
    for variable, expected in zip(model.variables, before, strict=True):
        assert np.array_equal(variable, expected), position


@pytest.fixture(params=["whole.h5", "weights.weights.h5", "shards.weights.json", "shards_*_00001*"])
def path(request, files):
    (path,) = files.glob(request.param)
    whole = path.read_bytes()
    yield path
    path.write_bytes(whole)


def test_every_cut_is_found(model, path):
    whole = path.read_bytes()
    ends = np.random.default_rng(1).integers(0, len(whole) - 1, 97)
    for end in (0, 1, len(whole) - 1 - whole.endswith(b"\n"), *ends):
        check_refused(model, path, whole[:end], end)


def test_every_changed_byte_is_found(model, path):
    whole = path.read_bytes()
    generator = np.random.default_rng(2)
    for position in generator.integers(0, len(whole), 100):
        damaged = bytearray(whole)
        damaged[position] ^= generator.integers(1, 256)
        check_refused(model, path, bytes(damaged), position)


def test_every_part_of_a_file_is_covered(model, files):
    """One byte in each kind of part, found by where it is."""
    path = files / "whole.h5"
    whole = path.read_bytes()
    with h5py.File(path) as file:
        parts = {
            "seal": 9,
            "free part of the block": seal.BLOCK - 1,
            "superblock": seal.BLOCK + 20,
            "ranges": len(whole) - 1,
            "config": file["config"].id.get_offset() + 40,
            "compile": file["compile"].id.get_offset() + 40,
            "names": file["names"].id.get_offset(),
            "large array": file["weights/dense/kernel"].id.get_offset() + 77_000,
            "small array": file["weights/dense_1/bias"].id.get_offset(),
            "slot": file["optimizer/slots/dense/kernel/velocity"].id.get_offset() + 5,
        }
    for part, position in parts.items():
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(tfkit.saving.LoadError, match=str(path)):
            print(part, tfkit.models.load_model(path))
    path.write_bytes(whole)
    tfkit.models.load_model(path)


def test_messages_name_what_is_damaged(model, files):
    path = files / "whole.h5"
    whole = path.read_bytes()
    kernel = whole.index(model.layers[0].kernel.numpy().tobytes())
    for damaged, message in (
        (
            whole[:-1],
            rf"written with {len(whole):,} bytes and has {len(whole) - 1:,}.*another copy",
        ),
        (
            whole[:kernel] + b"\xff" + whole[kernel + 1 :],
            "`weights/dense/kernel` is damaged.*another copy",
        ),
        (whole[:600] + b"\xff" + whole[601:], "another program has changed it.*structure"),
        (b"PK" + whole[2:], "or not an HDF5 file of tfkit: it begins with b'PK"),
        (whole[seal.BLOCK :], "damaged or truncated, or not an HDF5 file of Keras"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(tfkit.saving.LoadError, match=message):
            tfkit.models.load_model(path)
    path.write_bytes(whole)


def test_a_change_between_check_and_reading_is_an_error(files, tmp_path):
    """The second pass compares checksums too."""
    path = tmp_path / "x.weights.h5"
    hdf5_writing.write(path, {}, {"weights": {"a": np.ones(100_000)}})
    with hdf5.Reader(path) as reader:
        reader.check("weights", "a")
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 1
        path.write_bytes(whole)
        with pytest.raises(tfkit.saving.LoadError, match="`weights/a` is damaged"):
            reader.value("weights", "a")


@pytest.mark.parametrize(("ranges", "count"), [([(2**62, 2**62)], 1), ([], 2**60), ([(600, 0)], 1)])
def test_a_seal_with_ranges_that_cannot_be(ranges, count, tmp_path):
    path = tmp_path / "x.weights.h5"
    hdf5_writing.write(path, {}, {"weights": {"a": np.ones(100)}})
    with open(path, "r+b", buffering=0) as file:
        file.seek(0, 2)
        file.write(b"".join(seal._RANGE.pack(*each) for each in ranges))
        head = seal._HEAD.pack(seal.MAGIC, 1, 0, file.tell(), count)
        file.seek(0)
        file.write(seal._block(head))
    with pytest.raises(tfkit.saving.DamagedFileError, match="structure"):
        hdf5.Reader(path)
