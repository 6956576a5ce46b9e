"""The published files that Keras asks for: `published.txt` lists them.

`python -m tests.applications.published` writes the list again, from Keras, in some minutes.
"""

import contextlib
import itertools
from pathlib import Path
from unittest import mock

import keras

LIST = Path(__file__).with_name("published.txt")
_PLAIN = [
    *("VGG16", "VGG19", "ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2"),
    *("ResNet152V2", "DenseNet121", "DenseNet169", "DenseNet201"),
    *("Xception", "InceptionV3", "InceptionResNetV2", "NASNetMobile", "NASNetLarge"),
    *(f"EfficientNetB{number}" for number in range(8)),
    *(f"EfficientNetV2{version}" for version in ("B0", "B1", "B2", "B3", "S", "M", "L")),
    *(f"ConvNeXt{size}" for size in ("Tiny", "Small", "Base", "Large", "XLarge")),
]


def calls():
    """Each call that loads published weights: the name of a function, and its arguments."""
    for name in _PLAIN:
        yield name, {}
    for alpha in (0.25, 0.5, 0.75, 1.0):
        yield "MobileNet", {"alpha": alpha}
    for alpha in (0.35, 0.5, 0.75, 1.0, 1.3, 1.4):
        yield "MobileNetV2", {"alpha": alpha}
    for name, size in itertools.product(("MobileNet", "MobileNetV2"), (128, 160, 192)):
        yield name, {"input_shape": (size, size, 3)}
    yield "MobileNetV2", {"input_shape": (96, 96, 3)}
    for size in ("Small", "Large"):
        yield f"MobileNetV3{size}", {"alpha": 0.75}
        yield f"MobileNetV3{size}", {}
        yield f"MobileNetV3{size}", {"minimalistic": True}


def label(name, arguments):
    """A line without the file."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


class Asked(Exception):
    """Ends a call that has asked for a file."""


def asked(module, place, name, arguments):
    """The file that a call asks for: name in the cache, address, hash."""
    function = getattr(module.applications, name)
    given = {}

    def get_file(fname=None, origin=None, *args, **kwargs):
        given.update(fname=fname, origin=origin, **kwargs)
        raise Asked

    with mock.patch(place, get_file), contextlib.suppress(Asked):
        function(**arguments)
    assert given["cache_subdir"] == "models"
    return f"{given['fname']} {given['origin']} {given.get('file_hash')}"


def lines(module, place):
    """The list."""
    for name, arguments in calls():
        for include_top in (True, False):
            every = {**arguments, "include_top": include_top}
            yield f"{label(name, every)}: {asked(module, place, name, every)}"


if __name__ == "__main__":
    found = []
    for line in lines(keras, "keras.src.utils.file_utils.get_file"):
        found.append(f"{line}\n")
        keras.utils.clear_session()
    LIST.write_text("".join(found), encoding="utf-8")
