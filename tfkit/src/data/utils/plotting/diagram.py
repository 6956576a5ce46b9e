"""The diagram of a model: a box for each layer or function, an arrow for each tensor between two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base.quoting import shown as cut
from tfkit.src.core.layer import Layer
from tfkit.src.layers.input_layer import InputLayer
from tfkit.src.symbolic.tensors import Node, symbolic_leaves
from tfkit.src.training.models.graph import Graph
from tfkit.src.training.models.graph_config import operation_names
from tfkit.src.training.models.model import Model

_Sources = dict[int, int | None]


@dataclasses.dataclass(frozen=True)
class Shown:
    """The options for the text of a box, apart from the class: see `plot_model`."""

    shapes: bool = False
    dtype: bool = False
    layer_names: bool = False
    layer_activations: bool = False
    trainable: bool = False
    expand_nested: bool = False


@dataclasses.dataclass(frozen=True)
class Box:
    """A layer or function.

    Attributes:
        title: its name or class.
        lines: the text below the title, as pairs of a label and a value.
        group: names of the models that it is in, the outermost first.
        trainable: whether its weights are trained; `None` if that is not shown.
    """

    title: str
    lines: tuple[tuple[str, str], ...]
    group: tuple[str, ...] = ()
    trainable: bool | None = None


@dataclasses.dataclass
class Diagram:
    """Boxes, and the pairs of box indices that arrows connect."""

    boxes: list[Box] = dataclasses.field(default_factory=list)
    arrows: list[tuple[int, int]] = dataclasses.field(default_factory=list)


def diagram_of(model: Model, shown: Shown) -> Diagram:
    """Returns the diagram of a model: its graph, or one box for a model without one."""
    drawing = _Drawing(shown)
    if model._tfkit_graph is None:
        drawing.box_of(model, model.name, None, ())
    else:
        drawing.add(model._tfkit_graph, {}, ())
    return drawing.diagram


class _Drawing:
    def __init__(self, shown: Shown) -> None:
        self.diagram = Diagram()
        self._shown = shown
        self._numbers: dict[int, int] = {}  # The indices of boxes, by the id of the layer or call.

    def add(self, graph: Graph, sources: _Sources, group: tuple[str, ...]) -> _Sources:
        """Adds the calls of a graph.

        Args:
            graph: of a model.
            sources: the box of origin of each of its inputs, by the tensor's id.
            group: the models that it is in.

        Returns:
            The box of origin of each tensor, including `sources`.
        """
        names = operation_names(graph)
        found = dict(sources)
        for node in graph.nodes:
            # The inputs of a nested model are outputs of
            # boxes around it, and have none of their own.
            outputs = [each for each in symbolic_leaves(node.outputs) if id(each) not in sources]
            if not outputs:
                continue
            operation = node.operation
            inputs = symbolic_leaves((node.args, node.kwargs))
            inner = getattr(operation, "_tfkit_graph", None) if self._shown.expand_nested else None
            if inner is not None:
                given = {
                    id(own): found.get(id(tensor))
                    for own, tensor in zip(inner.flat_inputs, inputs, strict=False)
                }
                results = self.add(inner, given, (*group, cut(operation.name)))
                for own, output in zip(inner.flat_outputs, outputs, strict=True):
                    found[id(output)] = results[id(own)]
                continue
            # A layer has one box for all its calls, a function one for each.
            shown = operation if isinstance(operation, Layer) else node
            number = self.box_of(shown, names[id(node)], node, group)
            for tensor in inputs:
                self._connect(found.get(id(tensor)), number)
            found.update((id(output), number) for output in outputs)
        return found

    def box_of(self, shown: Any, name: str, node: Node | None, group: tuple[str, ...]) -> int:
        """Returns the number of the box of a layer, or of a function's call, added if missing."""
        if id(shown) not in self._numbers:
            self._numbers[id(shown)] = len(self.diagram.boxes)
            kind = _kind(shown)
            self.diagram.boxes.append(
                Box(
                    title=f"{cut(name)} ({kind})" if self._shown.layer_names else kind,
                    lines=tuple(self._lines(shown, node)),
                    group=group,
                    trainable=self._trainable(shown),
                )
            )
        return self._numbers[id(shown)]

    def _connect(self, start: int | None, end: int) -> None:
        if start is not None and (start, end) not in self.diagram.arrows:
            self.diagram.arrows.append((start, end))

    def _trainable(self, shown: Any) -> bool | None:
        has_weights = isinstance(shown, Layer) and bool(shown.weights)
        return bool(shown.trainable) if self._shown.trainable and has_weights else None

    def _lines(self, shown: Any, node: Node | None) -> Iterator[tuple[str, str]]:
        activation = getattr(shown, "activation", None)
        if self._shown.layer_activations and activation is not None:
            yield "Activation", getattr(activation, "__name__", type(activation).__name__)
        inputs = symbolic_leaves((node.args, node.kwargs)) if node else []
        outputs = symbolic_leaves(node.outputs) if node else []
        if self._shown.shapes:
            if inputs and not isinstance(shown, InputLayer):
                yield "Input shape", _together([str(tuple(each.shape)) for each in inputs])
            yield "Output shape", _together([str(tuple(each.shape)) for each in outputs])
        if self._shown.dtype:
            yield "Output dtype", _together([tf.as_dtype(each.dtype).name for each in outputs])


def _kind(shown: Any) -> str:
    """Returns the class of a layer, or the name of a function in the form of a class."""
    if isinstance(shown, Layer):
        return type(shown).__name__
    return "".join(part.capitalize() for part in shown.operation.__name__.split("_"))


def _together(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else "?"
