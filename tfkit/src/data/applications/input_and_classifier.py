"""The beginning and the end of every model: its input, its classifier or pooling, its weights."""

from __future__ import annotations

from tfkit.src.data.applications.input_shape import Sizes, image_shape
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.weights import Published, weights_file
from tfkit.src.data.utils.source_inputs import get_source_inputs
from tfkit.src.layers.dense import Dense
from tfkit.src.layers.input_layer import Input
from tfkit.src.layers.pooling import GlobalAveragePooling2D, GlobalMaxPooling2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Functional, Model

UNNAMED = (None, None)


def begin(
    options: Options, published: Published, *, size: int, min_size: int
) -> tuple[KerasTensor, str | None]:
    """Checks all arguments, downloads weights, and returns the images and the file of weights.

    Args:
        options: the arguments of the model.
        published: the published weights.
        size: rows and columns with a classifier, if no shape was passed.
        min_size: the smallest number of rows and columns.
    """
    options.check()
    return enter(options, image_shape(options, size=size, min_size=min_size), published)


def enter(options: Options, shape: Sizes, published: Published) -> tuple[KerasTensor, str | None]:
    """Downloads weights, and returns the images and the file of weights, for checked arguments."""
    file = weights_file(options, published)
    image = Input(shape) if options.input_tensor is None else options.input_tensor
    return image, file


def head(
    x: KerasTensor,
    options: Options,
    *,
    average_name: str | None = "avg_pool",
    pooling_names: tuple[str | None, str | None] = ("avg_pool", "max_pool"),
) -> KerasTensor:
    """Returns the scores of classes from average features; without a classifier the features.

    Args:
        x: a map of features.
        options: the arguments of the model.
        average_name: name of the pooling in front of the classifier.
        pooling_names: names of the pooling, `"avg"` and `"max"`, without a classifier.
    """
    if not options.include_top:
        return pooled(x, options, pooling_names)
    x = GlobalAveragePooling2D(name=average_name)(x)
    return Dense(options.classes, activation=options.classifier_activation, name="predictions")(x)


def pooled(
    x: KerasTensor,
    options: Options,
    names: tuple[str | None, str | None] = ("avg_pool", "max_pool"),
) -> KerasTensor:
    """Returns the features of a model without a classifier: the map, or its mean or maximum."""
    average_name, max_name = names
    if options.pooling == "avg":
        x = GlobalAveragePooling2D(name=average_name)(x)
    elif options.pooling == "max":
        x = GlobalMaxPooling2D(name=max_name)(x)
    return x


def finish(
    options: Options, image: KerasTensor, x: KerasTensor, name: str | None, file: str | None
) -> Model:
    """Returns the model that computes `x`, with the weights of a file.

    Args:
        options: the arguments of the model.
        image: what `begin` has returned. A model that starts from an `input_tensor` has the inputs from which
            that is computed.
        x: the output.
        name: name of the model.
        file: the file of weights that `begin` has returned.
    """
    inputs = image if options.input_tensor is None else get_source_inputs(image)
    model = Functional(inputs, x, name=name)
    if file is not None:
        model.load_weights(file)
    return model
