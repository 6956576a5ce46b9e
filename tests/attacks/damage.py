"""What an attacker does to an HDF5 file: links, storage elsewhere, bombs, pickles. It is sealed again."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.attacks.payloads import pickled
from tfkit.src.files.saving import seal

Attack = Callable[[h5py.File, Path], None]
ATTACKS: dict[str, Attack] = {}
# These are about the texts of a whole model, which `load_weights` does not read.
ABOUT_THE_CONFIG: set[str] = set()
KERNEL, BIAS = "weights/d/kernel", "weights/d/bias"


def attack(function: Attack) -> Attack:
    """Enters an attack; its id is the function's name."""
    ATTACKS[function.__name__] = function
    return function


def on_config(function: Attack) -> Attack:
    """Enters an attack on the texts."""
    ABOUT_THE_CONFIG.add(function.__name__)
    return attack(function)


def apply(name: str, path: Path) -> Path:
    """Changes the file, and seals it as whoever made it would."""
    with h5py.File(path, "r+") as file:
        ATTACKS[name](file, path.parent)
    with open(path, "r+b", buffering=0) as raw:
        seal.write(raw, [])
    return path


def replace(file: h5py.File, name: str, make: Callable[[], Any]) -> None:
    """Puts something else where a dataset or group was, with its marks."""
    del file[name]
    item = make()
    if isinstance(item, h5py.Dataset):
        item.attrs["dtype"] = "float32"
        item.attrs["crc32"] = np.uint32(zlib.crc32(bytes(24)))


def victim(folder: Path) -> str:
    """Another HDF5 file, with something under each name that is asked for."""
    with h5py.File(folder / "victim.h5", "w") as other:
        other.create_group("weights/d")
        other["x"] = np.zeros((3, 2), "float32")
    return str(folder / "victim.h5")


def secret(folder: Path) -> str:
    (folder / "secret").write_bytes(b"root:x:0:0:root:/root:/bin")
    return str(folder / "secret")


# --- S15: links at every level --------------------


def _link(where: str, target: str, external: bool) -> Attack:
    def made(file: h5py.File, folder: Path) -> None:
        def link() -> None:
            file[where] = (
                h5py.ExternalLink(victim(folder), target) if external else h5py.SoftLink("/config")
            )

        replace(file, where, link)

    return made


for _where, _target in [
    ("config", "x"),
    ("weights", "weights"),
    ("weights/d", "weights/d"),
    (KERNEL, "x"),
    ("optimizer", "weights"),
    ("compile", "x"),
]:
    for _external in (True, False):
        _name = f"s15_{'external' if _external else 'soft'}_{_where.replace('/', '_')}"
        ATTACKS[_name] = _link(_where, _target, _external)


@attack
def s15_external_link_more(file, folder):
    file["more"] = h5py.ExternalLink(victim(folder), "/")


@attack
def s15_link_to_nothing(file, folder):
    file["weights/e"] = h5py.SoftLink("/nothing")


@attack
def s15_two_names(file, folder):
    file["weights/again"] = file[KERNEL]


@attack
def s15_circle(file, folder):
    file["weights/self"] = file["weights"]


@attack
def s15_root_below_itself(file, folder):
    file["weights/root"] = file["/"]


# --- S14, S16: storage elsewhere --------------------


@attack
def s14_external_storage(file, folder):
    storage = [(secret(folder), 0, 24)]
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, (3, 2), "float32", external=storage))


@attack
def s14_external_config(file, folder):
    replace(
        file,
        "config",
        lambda: file.create_dataset("config", 24, "uint8", external=[(secret(folder), 0, 24)]),
    )


@attack
def s16_virtual(file, folder):
    layout = h5py.VirtualLayout((3, 2), "float32")
    layout[:] = h5py.VirtualSource(victim(folder), "x", (3, 2))
    replace(file, KERNEL, lambda: file.create_virtual_dataset(KERNEL, layout))


@attack
def s16_virtual_same_file(file, folder):
    layout = h5py.VirtualLayout((3, 2), "float32")
    layout[0] = h5py.VirtualSource(".", BIAS, (2,))
    replace(file, KERNEL, lambda: file.create_virtual_dataset(KERNEL, layout))


# --- S12, S13: shapes that are bombs --------------------


@attack
def s12_never_written(file, folder):
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, (2**20, 2**20), "float32"))


@attack
def s12_compressed(file, folder):
    shape, chunks = (2**20, 2**20), (2**10, 2**10)
    replace(
        file,
        KERNEL,
        lambda: file.create_dataset(KERNEL, shape, "float32", chunks=chunks, compression="gzip"),
    )


@attack
def s12_compressed_zeros(file, folder):
    data = np.zeros((3, 2), "float32")
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, data=data, compression="gzip"))


@attack
def s12_broadcast_by_a_stride(file, folder):
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, (3, 2), "float32", fillvalue=7))


@attack
def s12_config_never_written(file, folder):
    replace(file, "config", lambda: file.create_dataset("config", 2**40, "uint8"))
    file["config"].attrs["dtype"] = "json"


@attack
def s13_many_just_below(file, folder):
    for index in range(200):
        file.create_dataset(f"weights/w{index}", (2**20, 1000), "float32").attrs["dtype"] = (
            "float32"
        )


@attack
def s13_many_names(file, folder):
    for index in range(10_000):
        file[f"weights/d/k{index}"] = file[KERNEL]


@attack
def s13_deep_groups(file, folder):
    file.create_group("weights/" + "/".join("a" * 600))


# --- S6: objects, and attributes that are none --------------------


@attack
def s6_text_dataset(file, folder):
    replace(
        file, KERNEL, lambda: file.create_dataset(KERNEL, data=pickled(), dtype=h5py.string_dtype())
    )


@attack
def s6_opaque_dataset(file, folder):
    data = np.void(pickled().encode())
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, data=data))


@attack
def s6_ragged_dataset(file, folder):
    def make():
        item = file.create_dataset(KERNEL, 2, h5py.vlen_dtype(np.uint8))
        item[0] = np.frombuffer(pickled().encode(), np.uint8)
        return item

    replace(file, KERNEL, make)


@attack
def s6_references(file, folder):
    replace(file, KERNEL, lambda: file.create_dataset(KERNEL, data=file.ref, dtype=h5py.ref_dtype))


@attack
def s6_pickle_for_dtype(file, folder):
    file[KERNEL].attrs["dtype"] = np.void(pickled().encode())


@attack
def s6_object_dtype(file, folder):
    file[KERNEL].attrs["dtype"] = "object"


@attack
def s6_dtypes_for_dtype(file, folder):
    file[KERNEL].attrs["dtype"] = ["float32"] * 1000


@attack
def s6_text_for_checksum(file, folder):
    file[KERNEL].attrs["crc32"] = pickled()


@attack
def s6_numbers_for_format(file, folder):
    file.attrs["format"] = np.zeros(8000, "int64")


@attack
def s6_named_type(file, folder):
    file["weights/type"] = np.dtype("float32")


# --- What stands in the wrong place --------------------


@attack
def s12_dataset_for_group(file, folder):
    replace(
        file, "weights", lambda: file.create_dataset("weights", data=np.zeros((3, 2), "float32"))
    )


@attack
def s12_wrong_checksum(file, folder):
    file[KERNEL][0] = 7.0


@on_config
def s12_group_for_config(file, folder):
    replace(file, "config", lambda: file.create_group("config"))


def json_text(file: h5py.File, text: str, name: str = "config") -> None:
    """Replaces a text."""
    del file[name]
    dataset = file.create_dataset(name, data=np.frombuffer(text.encode(), np.uint8))
    dataset.attrs["dtype"] = "json"
    dataset.attrs["crc32"] = np.uint32(zlib.crc32(text.encode()))


def _config(name: str, text: str) -> None:
    def made(file: h5py.File, folder: Path) -> None:
        json_text(file, text)

    ATTACKS[name] = made
    ABOUT_THE_CONFIG.add(name)


def _sequential(units: str, name: str = '"d"', more: str = "") -> str:
    given = '{"class_name": "InputLayer", "config": {"batch_shape": [null, 3]}}'
    dense = f'{{"class_name": "Dense", "config": {{"name": {name}, "units": {units}{more}}}}}'
    return f'{{"class_name": "Sequential", "config": {{"layers": [{given}, {dense}]}}}}'


_MANY = json.dumps(
    {
        "class_name": "Sequential",
        "config": {"layers": [{"class_name": "Flatten", "config": {}}] * 1_000_000},
    },
    separators=(",", ":"),
)
_config("s27_no_json", "{")
_config("s27_list", "[1, 2]")
_config("s27_text", '"Sequential"')
_config("s27_null_byte", "\0")
_config("s27_deep_lists", "[" * 100_000 + "]" * 100_000)
_config("s27_deep_dicts", '{"a":' * 100_000 + "1" + "}" * 100_000)
_config("s27_many_digits", _sequential("1" * 10_000_000))
_config("s27_many_units", _sequential(str(2**40)))
_config("s27_units_of_the_file_twice", _sequential("4"))
_config("s27_more_units_than_64_bits", _sequential(str(2**70)))
_config("s27_units_not_a_number", _sequential("NaN"))
_config("s27_units_infinite", _sequential("1e400"))
_config("s27_key_twice", _sequential("2", more=', "units": 1099511627776'))
_config("s27_tuple_of_nothing", '{"class_name": "__tuple__"}')
_config("s27_dict_of_numbers", '{"class_name": "__dict__", "config": [1, 2]}')
_config("s27_million_layers", _MANY)
_config("s27_layers_are_a_number", '{"class_name": "Sequential", "config": {"layers": 3}}')
_config("s27_no_layers", '{"class_name": "Sequential", "config": {}}')
_config("s27_no_inputs", '{"class_name": "Functional", "config": {"input_layers": 1}}')
_config("s22_name_up", _sequential("2", '"../../x"'))
_config("s22_name_number", _sequential("2", "7"))


@on_config
def s27_longer_than_any_text(file, folder):
    # Never written, and yet of the size that it declares: a hole in the file.
    del file["config"]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((1 << 28,))
    made = h5py.h5d.create(file.id, b"config", h5py.h5t.STD_U8LE, space, properties)
    item = h5py.Dataset(made)
    item.attrs["dtype"] = "json"
    item.attrs["crc32"] = np.uint32(0)
