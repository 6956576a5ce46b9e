"""`plot_model` and `model_to_dot`: pictures of models, for users."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tfkit.src.base import notebooks
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import given
from tfkit.src.data.utils.plotting.diagram import Shown, diagram_of
from tfkit.src.data.utils.plotting.dot import Dot
from tfkit.src.training.models.model import Model
from tfkit.src.training.models.sequential import Sequential


@shortened
def model_to_dot(
    model: Model,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: float | None = 200,
    subgraph: bool = False,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
    **kwargs: Any,
) -> Dot:
    """Returns a diagram of a model, in the language of Graphviz or as a picture.

    Args:
        model: a functional or sequential model that is built; the diagram of any other model has one box.
        show_shapes: whether to write the shapes of inputs and outputs. Default: `False`.
        show_dtype: whether to write the dtypes of outputs. Default: `False`.
        show_layer_names: whether to write names, and not classes alone. Default: `True`.
        rankdir: of the arrows: `"TB"` from top to bottom, `"LR"` from left to right, `"BT"` or `"RL"`.
            Default: `"TB"`.
        expand_nested: whether to draw the layers of models that the model calls, in a frame. Default:
            `False`.
        dpi: dots of an inch, for formats of pixels. Default: `200`.
        subgraph: whether the text is for a part of a larger graph. Default: `False`.
        show_layer_activations: whether to write the layers' activations. Default: `False`.
        show_trainable: whether layers are green where they are trained, and red where not. Default: `False`.
        splines: form of the arrows, with Graphviz's names, such as `"ortho"` or `"curved"`.
            Default: `"ortho"`.

    Returns:
        An object with `to_string()`, `create(format="svg")` and `write(path, format="png")`, which a notebook
        shows as a picture. Graphviz draws it if it is installed; otherwise tfkit does.

    Raises:
        TypeError: for anything but a model, and for unknown arguments.
        ValueError: for a sequential model that is not built, and for an unknown `rankdir`.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(2, name="out")])
        >>> "out (Dense)" in model_to_dot(model).to_string()
        True
    """
    if kwargs:
        raise TypeError(f"model_to_dot() got unexpected arguments: {', '.join(kwargs)}")
    if not isinstance(model, Model):
        raise TypeError(
            f"`model` must be a model. Received: {model!r} (of type {type(model).__name__})"
        )
    if isinstance(model, Sequential) and not model.built:
        raise ValueError(
            f"The model {model.name!r} is not built, so its layers have no shapes yet. Call it on data, call "
            "`model.build(input_shape)`, or begin it with `Input(shape)`."
        )
    shown = Shown(
        shapes=show_shapes,
        dtype=show_dtype,
        layer_names=show_layer_names,
        layer_activations=show_layer_activations,
        trainable=show_trainable,
        expand_nested=expand_nested,
    )
    return Dot(
        diagram_of(model, shown),
        model.name,
        rankdir=rankdir,
        dpi=dpi,
        splines=splines,
        subgraph=subgraph,
    )


@shortened
def plot_model(
    model: Model,
    to_file: str | os.PathLike[str] = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = False,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: float | None = 200,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
    **kwargs: Any,
) -> Any:
    """Writes a picture of a model to a file, and shows it in a notebook.

    SVG and DOT need nothing else. PNG, JPEG and PDF are drawn by Graphviz if it is installed, and
    otherwise with Pillow.

    Args:
        model: a functional or sequential model that is built; the picture of any other model has one box.
        to_file: the file; its extension determines the format: `.svg`, `.dot`, `.png`, `.jpg` or `.pdf`, and
            what Graphviz has. Default: `"model.png"`.
        show_shapes: whether to write the shapes of inputs and outputs. Default: `False`.
        show_dtype: whether to write the dtypes of outputs. Default: `False`.
        show_layer_names: whether to write names, and not classes alone. Default: `False`.
        rankdir: of the arrows: `"TB"` from top to bottom, `"LR"` from left to right, `"BT"` or `"RL"`.
            Default: `"TB"`.
        expand_nested: whether to draw the layers of models that the model calls, in a frame. Default:
            `False`.
        dpi: dots of an inch, for formats of pixels. Default: `200`.
        show_layer_activations: whether to write the layers' activations. Default: `False`.
        show_trainable: whether layers are green where they are trained, and red where not. Default: `False`.
        splines: form of the arrows, with Graphviz's names, such as `"ortho"` or `"curved"`.
            Default: `"ortho"`.

    Returns:
        An object that shows the picture, in a notebook with IPython; `None` elsewhere.

    Raises:
        ImportError: if neither Graphviz nor Pillow is installed and the format is not SVG or DOT.
        TypeError: for anything but a model, and for unknown arguments.
        ValueError: for a sequential model that is not built, an unknown `rankdir` or format.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(2)])
        >>> path = Path(tempfile.mkdtemp(), "model.svg")
        >>> plot_model(model, path)
        >>> "<svg" in path.read_text()
        True
    """
    dot = model_to_dot(**given(locals(), "to_file"))
    path = Path(to_file)
    format = path.suffix.lower().lstrip(".") or "png"
    dot.write(path if path.suffix else path.with_suffix(".png"), format=format)
    return notebooks.picture(path) if notebooks.is_here() else None
