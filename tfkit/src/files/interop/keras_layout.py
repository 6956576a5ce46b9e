"""The paths at which Keras 3 stores the variables of each layer in a file.

Keras walks the attributes of a model in alphabetical order, private ones last, and stores each layer at the
first path that reaches it. Members of a container are stored by class and number, `blocks/dense`,
`blocks/dense_1`, whatever their keys in a dict are; so are, under `layers`, those layers of a subclassed
model whose attributes come later than "layers" in the alphabet.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tfkit.src.base.members import BOOKKEEPING, TRACKING, derived_property
from tfkit.src.base.names import to_snake_case
from tfkit.src.base.registry.configuration import is_ours
from tfkit.src.core.layer import Layer
from tfkit.src.optimizers.base import Optimizer

# The criteria for the order of the members of a container.
GRAPH, LIST, DICT, CREATION = "graph", "list", "dict", "creation"
# The objects that Keras finds, as far as files hold something of them.
_KINDS = (Layer, Optimizer, list, tuple, dict)


@dataclasses.dataclass(frozen=True)
class Member:
    """A layer, or a container of layers, in a container.

    Attributes:
        name: its name in Keras: class and count.
        value: the layer, list, tuple or dict.
        seen: whether an earlier path has reached it, so that nothing is stored here.
    """

    name: str
    value: Any
    seen: bool

    @property
    def kind(self) -> str:
        """The name of the class, without the number."""
        return base_name(self.value)


@dataclasses.dataclass(frozen=True)
class Container:
    """A container of layers at a path; `order` is the criterion for the order of its members."""

    path: str
    order: str
    members: list[Member]


Chooser = Callable[[Container], dict[int, str]]


def by_position(container: Container) -> dict[int, str]:
    """Returns the path of each member, by id, as Keras numbers them."""
    return {id(member.value): join(container.path, member.name) for member in container.members}


def join(path: str, name: str) -> str:
    """Returns a path in a file, whose root is empty."""
    return f"{path}/{name}".lstrip("/")


def places(model: Layer, choose: Chooser = by_position) -> list[tuple[str, Layer]]:
    """Returns each layer at and below `model` with its path in Keras's file.

    Args:
        model: the model.
        choose: returns the paths of the members of a container.
    """
    found: dict[int, tuple[str, Layer]] = {}
    _visit("", model, choose, found)
    return list(found.values())


def _visit(path: str, layer: Layer, choose: Chooser, found: dict[int, tuple[str, Layer]]) -> None:
    # The first path counts: Keras stores a shared layer once.
    if id(layer) in found:
        return
    found[id(layer)] = (path, layer)
    for name, value, order in _children(layer):
        if isinstance(value, Layer):
            _visit(join(path, name), value, choose, found)
        elif not isinstance(value, Optimizer):
            _visit_container(Container(join(path, name), order, []), value, choose, found, set())


def _visit_container(
    container: Container, value: Any, choose: Chooser, found: dict[int, Any], inside: set[int]
) -> None:
    # A list may contain itself.
    if id(value) in inside:
        return
    inside.add(id(value))
    for name, item in _named(value):
        if not isinstance(item, Optimizer):
            container.members.append(Member(name, item, id(item) in found))
    paths = choose(container)
    for member in container.members:
        path = paths[id(member.value)]
        if isinstance(member.value, Layer):
            _visit(path, member.value, choose, found)
        else:
            inner = Container(path, _order(member.value), [])
            _visit_container(inner, member.value, choose, found, inside)


def _named(container: Any) -> Iterator[tuple[str, Any]]:
    """Yields the objects in a container, each with its class and count."""
    used: collections.Counter[str] = collections.Counter()
    for item in container.values() if isinstance(container, dict) else container:
        if isinstance(item, _KINDS):
            base = base_name(item)
            yield f"{base}_{used[base]}" if used[base] else base, item
            used[base] += 1


def held_optimizers(places: list[tuple[str, Layer]]) -> dict[str, Optimizer]:
    """Returns the optimizers in attributes of layers, and in containers there, by path.

    Of several paths of one optimizer, Keras's file has one.
    """
    found: dict[str, Optimizer] = {}
    pending: list[tuple[str, Any]] = [
        (join(path, name), value) for path, layer in places for name, value, _ in _children(layer)
    ]
    walked: set[int] = set()  # A list may contain itself.
    for path, value in pending:
        if isinstance(value, Optimizer):
            found[path] = value
        elif not isinstance(value, Layer) and id(value) not in walked:
            walked.add(id(value))
            pending += [(join(path, name), item) for name, item in _named(value)]
    return found


def _order(container: Any) -> str:
    return DICT if isinstance(container, dict) else LIST


def base_name(value: Any) -> str:
    """Returns what Keras calls a layer, optimizer or container in a container, without the number."""
    if not isinstance(value, (Layer, Optimizer)):
        return "container"
    name = type(value).__name__
    return to_snake_case(_KERAS_CLASSES.get(name, name))


def _children(layer: Layer) -> Iterator[tuple[str, Any, str]]:
    """Yields what attributes hold, in Keras's order, with the order of containers."""
    model: Any = layer if hasattr(layer, "_tfkit_graph_layers") else None
    is_model = model is not None
    in_graph = is_model and (model._tfkit_graph is not None or hasattr(model, "_tfkit_stack"))
    if in_graph:
        yield "layers", model.layers, GRAPH
    names = set(dir(layer)) - _names_of_base(type(layer)) - TRACKING
    # Names that models have and layers do not, such as `summary`, may be those of members.
    names |= vars(layer).keys() - _names_of_base(Layer) - BOOKKEEPING
    if is_model and not in_graph:
        names.add("layers")
    # Private names come last in Keras, whose order decides which path a shared layer gets.
    for name in sorted(names, key=lambda name: f"~{name}" if name.startswith("_") else name):
        if isinstance(getattr(type(layer), name, None), derived_property):
            continue
        try:
            value = getattr(layer, name)
        except Exception:  # A user's property without a value now; Keras ignores it, too.
            continue
        if isinstance(value, _KINDS):
            name = _KERAS_NAMES.get((type(layer).__name__, name), name)
            yield name, value, CREATION if name == "layers" and is_model else _order(value)


# Classes whose name in Keras differs from the public one.
_KERAS_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
# Attributes that are private in Keras.
_KERAS_NAMES = {("MultiHeadAttention", "gate_dense"): "_gate_dense"}


_names: dict[str, frozenset[str]] = {}


def _names_of_base(cls: Any) -> frozenset[str]:
    """Returns the attributes of every layer, or of every model, which are not members."""
    base = next(
        base
        for base in cls.__mro__
        if base.__name__ in ("Sequential", "Model", "Layer") and is_ours(base)
    )
    if base.__name__ not in _names:
        # Of an instance, because constructors set attributes, too.
        _names[base.__name__] = frozenset(dir(base(name="names")))
    return _names[base.__name__]
