"""The docstrings of models: the parts that all families share are written once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from tfkit.src.base.errors.tracebacks import shortened

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDTH = 100

_ARGUMENTS = {
    "include_top": "whether the model ends in a classifier. Without it, the outputs are features.",
    "weights": (
        '`"imagenet"` for the published weights, which are downloaded the first time; the path of a file of '
        "weights, of tfkit or of Keras; `None` for newly drawn ones."
    ),
    "input_tensor": (
        "symbolic tensor that the model starts from, such as the output of other layers; the model has the "
        "inputs from which it is computed. `None` for a new input."
    ),
    "input_shape": (
        "sizes of an image with channels and without the batch, at least {min_size} rows and columns, in the "
        "order of `config.image_data_format()`. `None` is `({size}, {size}, 3)` with the classifier, and "
        "any size with 3 channels without it. The published classifier accepts no other sizes."
    ),
    "pooling": (
        'without the classifier, how the map of features is reduced: `"avg"` for its mean, '
        '`"max"` for its maximum over all positions, `None` for the map itself.'
    ),
    "classes": "number of classes; the published classifier has 1000.",
    "classifier_activation": (
        "activation of the classifier, a name or a function; `None` for logits. If weights are loaded, "
        '`"softmax"` or `None`.'
    ),
    "include_preprocessing": (
        "whether the model begins with the scaling of pixels from 0 to 255. Otherwise it expects them scaled."
    ),
    "name": "name of the model.",
}

_TEXT = """
{summary}

{preprocessing}

Args:
{arguments}

Input shape: `(batch, rows, columns, 3)`, or `(batch, 3, rows, columns)` for `"channels_first"`.

Output shape: `(batch, classes)`; without the classifier `(batch, features)`, or a map of features.

Returns:
    A functional model, which is not compiled.

Raises:
    ValueError: for an argument that is not possible, or not with these weights; for a file that does not
        fit the model.
    OSError: if the published weights cannot be fetched.

Reference:
    {paper}

Example:
    ```python
    model = tfkit.applications.{name}()
    scores = model.predict(tfkit.applications.{module}.preprocess_input(images))
    tfkit.applications.{module}.decode_predictions(scores, top=3)
    ```
"""


class Family(NamedTuple):
    """The parts of docstrings that differ from family to family.

    Args:
        module: the public module with `preprocess_input`.
        paper: authors, title and year.
        preprocessing: sentences about the pixels that the models accept.
        size: rows and columns of the images that the classifier accepts.
        min_size: the smallest number of rows and columns.
        arguments: descriptions of arguments that other families do not have, or describe differently.
    """

    module: str
    paper: str
    preprocessing: str
    size: int = 224
    min_size: int = 32
    arguments: Mapping[str, str] = MappingProxyType({})


def application(family: Family, *, size: int | None = None) -> Callable[[Function], Function]:
    """Returns a decorator for the function of a model, which completes its docstring.

    The function's own docstring is the first sentence; its arguments are described in the
    order of its signature, with their defaults.

    Args:
        family: the contents of the docstrings of the family.
        size: rows and columns of the images that the classifier accepts, if they differ from the family's.
    """

    def complete(function: Function) -> Function:
        if function.__doc__:  # Python's option -OO removes docstrings.
            function.__doc__ = _text(function, family, size or family.size)
        return shortened(function)

    return complete


def _text(function: Any, family: Family, size: int) -> str:
    described = {**_ARGUMENTS, **family.arguments}
    lines = []
    for name, parameter in inspect.signature(function).parameters.items():
        words = described[name].format(size=size, min_size=family.min_size)
        if parameter.default is not None:
            shown = (
                f'"{parameter.default}"'
                if isinstance(parameter.default, str)
                else parameter.default
            )
            words += f" Default: `{shown}`."
        lines.append(_wrapped(f"{name}: {words}", "    ", "        "))
    return _TEXT.format(
        summary=inspect.cleandoc(function.__doc__),
        preprocessing=_wrapped(family.preprocessing),
        arguments="\n".join(lines),
        paper=_wrapped(family.paper, "", "        "),
        name=function.__name__,
        module=family.module,
    ).strip()


def _wrapped(words: str, first: str = "", others: str = "") -> str:
    return textwrap.fill(words, _WIDTH, initial_indent=first, subsequent_indent=others)
