"""Weights in safetensors files: of tfkit, of other libraries, and of people who mean harm."""

import json
import os
import struct
import time

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.saving import LoadError
from tfkit.src.base import limits

BFLOAT16 = tf.bfloat16.as_numpy_dtype
METADATA = "__metadata__"


def build(dtype="float32"):
    return tfkit.Sequential(
        [tfkit.Input((3,)), layers.Dense(2, name="d", dtype=dtype), layers.Dropout(0.5)]
    )


@pytest.fixture
def model():
    return build()


@pytest.fixture
def path(model, tmp_path):
    model.save_weights(tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def parts(path):
    """Header and data of a file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def foreign(path, arrays):
    """A file as other libraries write them: no metadata, in the order given."""
    header, data = {}, b""
    codes = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "uint32": "U32"}
    for name, array in arrays.items():
        offsets = [len(data), len(data) + array.nbytes]
        code = codes[array.dtype.name]
        header[name] = {"dtype": code, "shape": [*array.shape], "data_offsets": offsets}
        data += array.tobytes()
    return write(path, header, data)


def values(model):
    return [variable.numpy() for variable in model.variables]


def assert_equal(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_weights_come_back(dtype, tmp_path):
    source, target = build(dtype), build(dtype)
    source.save_weights(tmp_path / "m.safetensors")
    header, data = parts(tmp_path / "m.safetensors")
    metadata = header.pop(METADATA)
    assert (metadata["format"], metadata["format_version"]) == ("tfkit", "1")
    assert {"d.kernel", "d.bias"} < header.keys()
    assert os.path.getsize(tmp_path / "m.safetensors") % 4 == len(data) % 4
    report = target.load_weights(tmp_path / "m.safetensors")
    assert {"d/kernel", "d/bias"} < set(report.loaded)
    assert not report.skipped
    assert not report.unused
    assert_equal(values(source), values(target))


def test_dots_in_names_by_name_and_what_is_skipped(tmp_path):
    source = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, name="a.b")])
    source.save_weights(tmp_path / "m.safetensors")
    target = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, name="a.b"), layers.Dense(2)])
    report = target.load_weights(tmp_path / "m.safetensors", by_name=True)
    assert len(report.loaded) == 2
    assert_equal(source.get_weights(), target.get_weights()[:2])
    source.save_weights(tmp_path / "m.safetensors", objects_to_skip=[source.layers[0].bias])
    header, _ = parts(tmp_path / "m.safetensors")
    report = target.load_weights(tmp_path / "m.safetensors", skip_mismatch=True)
    assert [name for name in header if name != METADATA] == report.loaded
    assert len(report.loaded) == 1


def test_names_of_pytorch_are_renamed(model, tmp_path):
    kernel, bias = np.ones((3, 2), "float32"), np.full(2, 2, "float32")
    path = foreign(tmp_path / "t.safetensors", {"enc.0.kernel": kernel, "enc.0.bias": bias})
    with pytest.raises(tfkit.saving.LoadError, match=r"missing in the file: +d/kernel"):
        model.load_weights(path)
    report = model.load_weights(path, rename={"enc/0": "d"}, skip_mismatch=True)
    assert report.loaded == ["d/kernel", "d/bias"]
    assert_equal(model.get_weights()[:2], [kernel, bias])


def test_another_width_is_cast_with_a_warning(tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, name="d")])
    kernel, bias = np.full((3, 2), 1.5, BFLOAT16), np.zeros(2, "float16")
    path = foreign(tmp_path / "t.safetensors", {"d.kernel": kernel, "d.bias": bias})
    with pytest.warns(UserWarning, match=r"d/kernel \(bfloat16 -> float32\)"):
        model.load_weights(path)
    assert float(model.weights[0][0, 0]) == 1.5


def test_other_endings_and_dtypes_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"in `.weights.json` when `max_shard_size`"):
        model.save_weights(tmp_path / "m.safetensors", max_shard_size=1)
    with pytest.raises(FileExistsError):
        model.save_weights(write(tmp_path / "m.safetensors", {}), overwrite=False)
    with pytest.raises(tfkit.saving.LoadError):
        tfkit.saving.load_model(write(tmp_path / "m.safetensors", {}))


def test_the_old_file_survives_a_failure(model, path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr(np, "ascontiguousarray", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save_weights(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HOSTILE = {
    "empty": (b"", b"", 0, "truncated"),
    "length beyond the file": (b"{}", b"", 2**63, "would have 9,223,372,036,854,775,808 bytes"),
    "length of all": (b"{}", b"", 2**64 - 1, "truncated"),
    "no JSON": (b"{nothing", b"", None, "not valid JSON"),
    "no text": (b"\xff\xfe{}", b"", None, "not valid JSON"),
    "nested": (b"[" * 100_000, b"", None, "nested too deeply"),
    "a list": (b"[]", b"", None, "no header of arrays"),
    "space in front": (b"  {}", b"", None, "no header of arrays"),
    "name twice": (b'{"a":1,"a":2}', b"", None, "appears twice"),
    "one path twice": (
        {"a.b": entry([1], 0, 4), "a/b": entry([1], 4, 8)},
        bytes(8),
        None,
        "same path",
    ),
    "metadata": ({METADATA: {"a": 1}}, b"", None, "not a dict of strings"),
    "version": ({METADATA: {"format": "tfkit", "format_version": "2"}}, b"", None, "Expected '1'"),
    "checksums": (
        {METADATA: {"format": "tfkit", "format_version": "1", "crc32": "[]"}},
        b"",
        None,
        "not a dict",
    ),
    "overlap": ({"a": entry([2], 0, 8), "b": entry([1], 4, 8)}, bytes(8), None, "overlaps"),
    "same bytes": ({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, bytes(4), None, "overlaps"),
    "gap": ({"a": entry([1], 4, 8)}, bytes(8), None, "gap"),
    "bytes of nobody": ({"a": entry([1], 0, 4)}, bytes(8), None, "has more than its arrays"),
    "beyond": ({"a": entry([4], 0, 16)}, bytes(8), None, "truncated"),
    "bomb": ({"a": entry([2**40, 2**40], 0, 4)}, bytes(4), None, "has a shape of other"),
    "overflow": ({"a": entry([2**63, 2], 0, 0)}, b"", None, "has a shape of other"),
    "negative": ({"a": entry([-1, -1], 0, 4)}, bytes(4), None, "has the shape"),
    "negative offset": ({"a": entry([1], -4, 0)}, bytes(4), None, "has the offsets"),
    "backwards": ({"a": entry([0], 4, 0)}, bytes(4), None, "has a shape of other"),
    "axes": ({"a": entry([1] * 33, 0, 4)}, bytes(4), None, "has the shape"),
    "fraction": ({"a": entry([1.0], 0, 4)}, bytes(4), None, "has the shape"),
    "truth": ({"a": entry([True], 0, 4)}, bytes(4), None, "has the shape"),
    "dtype": ({"a": entry([1], 0, 1, "F8_E5M2")}, bytes(1), None, "expected one of"),
    "dtype list": ({"a": entry([1], 0, 4, ["F32"])}, bytes(4), None, "expected one of"),
    "more keys": ({"a": entry([1], 0, 4) | {"file": "/etc/passwd"}}, bytes(4), None, "entries"),
    "not a dict": ({"a": 1}, b"", None, "entries"),
    "digits": (b'{"a":%s}' % (b"9" * 5000), b"", None, "digits"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, model, tmp_path):
    header, data, length, message = HOSTILE[name]
    before = values(model)
    for skip in (False, True):
        with pytest.raises(tfkit.saving.LoadError, match=message):
            model.load_weights(
                write(tmp_path / "m.safetensors", header, data, length), skip_mismatch=skip
            )
    assert_equal(before, values(model))


def test_a_bool_is_zero_or_one(tmp_path):
    class Flag(tfkit.layers.Layer):
        def build(self, _):
            self.flag = self.add_weight(shape=(2,), dtype="bool", initializer="zeros", name="flag")

        def call(self, x):
            return x

    model = tfkit.Sequential([tfkit.Input((3,)), Flag(name="f")])
    path = tmp_path / "m.safetensors"
    model.load_weights(write(path, {"f.flag": entry([2], 0, 2, "BOOL")}, b"\1\0"))
    assert model.weights[0].numpy().tolist() == [True, False]
    with pytest.raises(tfkit.saving.LoadError, match="the byte 7 for a bool"):
        model.load_weights(write(path, {"f.flag": entry([2], 0, 2, "BOOL")}, b"\0\7"))
    assert model.weights[0].numpy().tolist() == [True, False]


def test_a_long_header_and_holes_are_refused_unread(model, tmp_path):
    path = tmp_path / "m.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", limits.TEXT.most + 1) + b"{")
        file.truncate(limits.TEXT.most + 100)
    with pytest.raises(tfkit.saving.LoadError, match=r"consists of holes|has a header of"):
        model.load_weights(path)


def test_every_flipped_byte_is_noticed(model, path):
    """Of a file that tfkit wrote: a wrong header, or the checksum of an array."""
    content, before = path.read_bytes(), values(model)
    (length,) = struct.unpack("<Q", content[:8])
    header_end = 8 + length
    draws = np.random.default_rng(0)
    places = {*draws.integers(0, header_end, 60), *range(header_end, len(content))}
    for place in sorted(places):
        changed = bytearray(content)
        changed[place] ^= 1 << int(draws.integers(0, 8))
        path.write_bytes(changed)
        try:
            model.load_weights(path)
        except tfkit.saving.LoadError:
            assert_equal(before, values(model))
        else:  # A letter of the metadata, or a space at its end.
            assert place < header_end
            assert_equal(before, values(model))
    path.write_bytes(content[:-1])
    with pytest.raises(tfkit.saving.LoadError, match="truncated"):
        model.load_weights(path)


class TestWithTheLibrary:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("safetensors", reason="`pip install safetensors`")

    def test_it_reads_what_tfkit_writes(self, model, path):
        from safetensors import safe_open
        from safetensors.numpy import load_file

        found = load_file(path)
        np.testing.assert_array_equal(found["d.kernel"], model.layers[0].kernel)
        with safe_open(path, "np") as file:
            assert file.metadata()["format"] == "tfkit"

    def test_tfkit_reads_what_it_writes(self, tmp_path):
        from safetensors.numpy import save_file

        arrays = {"d.kernel": np.ones((3, 2), "float32"), "d.bias": np.ones(2, "float32")}
        save_file(arrays, tmp_path / "t.safetensors", metadata={"format": "np"})
        model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, name="d")])
        assert model.load_weights(tmp_path / "t.safetensors").loaded == ["d/kernel", "d/bias"]
        assert_equal(model.get_weights(), [*arrays.values()])


EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


@pytest.mark.parametrize(
    "names",
    [
        ["/" * count for count in range(1, 2_000)],
        ["." * count + "a" for count in range(2_000)],
        [f"a{index}" for index in range(50_000)],
        [f"{'a.' * 15}{index}" for index in range(20_000)],
    ],
    ids=["slashes", "dots", "many", "steps"],
)
def test_names_that_cost_work_are_refused_at_once(names, model, tmp_path):
    path = write(tmp_path / "m.safetensors", dict.fromkeys(names, EMPTY))
    start = time.process_time()
    with pytest.raises(LoadError) as error:
        model.load_weights(path)
    assert time.process_time() - start < 4.0  # As in tests/attacks/test_limits.py.
    assert len(str(error.value)) < 3_000
