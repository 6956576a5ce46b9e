"""The layers of the models of which a family has several: `architectures.txt` has a hash of each.

`python -m tests.applications.architectures` writes the list again, from Keras, and compares all of ours with
it, in some minutes.
"""

import hashlib
import json
from pathlib import Path

import keras

import tfkit
from tests.applications.pairs import plain

LIST = Path(__file__).with_name("architectures.txt")
# Those that are built in a second or two.
SMALL = ["EfficientNetB2", "EfficientNetV2B3", "EfficientNetV2S", "ConvNeXtSmall"]
LARGE = [
    *("ResNet101", "ResNet152", "ResNet101V2", "ResNet152V2", "DenseNet169", "DenseNet201"),
    *("NASNetLarge", "EfficientNetB1", "EfficientNetB3", "EfficientNetB4", "EfficientNetB5"),
    *("EfficientNetB6", "EfficientNetB7", "EfficientNetV2B1", "EfficientNetV2B2"),
    *("EfficientNetV2M", "EfficientNetV2L", "ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtXLarge"),
]


def line(library, name):
    """The name of a model, the number of its layers and weights, and a hash of all their settings."""
    library.utils.clear_session(free_memory=False)
    model = getattr(library.applications, name)(weights=None)
    layers = [
        [type(layer).__name__, layer.name, plain(layer.get_config())] for layer in model.layers
    ]
    shapes = [list(weight.shape) for weight in model.weights]
    sizes = [model.input_shape, model.output_shape]
    contents = json.dumps([layers, shapes, sizes], sort_keys=True)
    digest = hashlib.md5(contents.encode()).hexdigest()
    return f"{name}: {len(layers)} layers, {model.count_params()} weights, {digest}"


if __name__ == "__main__":
    expected = [line(keras, name) for name in [*SMALL, *LARGE]]
    LIST.write_text("".join(f"{each}\n" for each in expected), encoding="utf-8")
    for known in expected:
        found = line(tfkit, known.partition(":")[0])
        print(found if found == known else f"{found}, where Keras has {known}", flush=True)
