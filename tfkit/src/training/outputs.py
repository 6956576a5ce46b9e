"""Matches the arguments of `compile` and `fit` to the model's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

Path = tuple[Any, ...]

_RULES = {
    "y": "y_true and y_pred have different structures. ",
    "loss_weights": "`loss_weights` must match the number of losses. ",
}


class Outputs:
    """The tensors in the nest of a model's outputs, in one order, with a name for each.

    Args:
        y_pred: the outputs.
        names: names of the outputs, where the model has them.

    Attributes:
        names: name of each result; `None` if it has none, neither by a key nor by the model.
    """

    def __init__(self, y_pred: Any, names: list[str] | None) -> None:
        self._structure = tf.nest.map_structure(lambda _: 0, y_pred)
        self._paths = _paths(y_pred)
        count = len(self._paths)
        self.names: list[str | None] = [None] * count
        if isinstance(y_pred, Mapping) and all(len(path) == 1 for path in self._paths):
            self.names = [str(path[0]) for path in self._paths]
        elif names is not None and len(names) == count:
            self.names = list(names)
        self.single = count == 1

    def label(self, index: int, otherwise: str) -> str:
        """Returns the name of an output's loss: its keys, with the output's name instead of a list index."""
        path = self._paths[index]
        if not path or isinstance(path[-1], int):
            path = (*path[:-1], self.names[index] or otherwise)
        return "/".join(map(str, path))

    def numbered(self) -> Any:
        """Returns the nest of the outputs with a number for each, in order."""
        return tf.nest.pack_sequence_as(self._structure, list(range(len(self.names))))

    def rank(self, index: int, given: Any) -> int:
        """Returns the index of an output among a dict's keys, which are keys or names of outputs; else 0."""
        keys = list(given) if isinstance(given, Mapping) else []
        names = (*self._paths[index][:1], self.names[index])
        return next((keys.index(name) for name in names if name in keys), 0)

    def group_label(self, path: Path, outputs: list[int], otherwise: str) -> str:
        """Returns the name of the loss of several outputs: their keys, or their names."""
        if path and isinstance(path[-1], int):
            path = path[:-1]
        names = "_".join(self.names[number] or otherwise for number in outputs)
        return "/".join(map(str, path)) or names

    def split(self, value: Any, what: str) -> list[Any]:
        """Returns one value of `value` for each output: by key or name from a dict, by index from a list."""
        if self.single:
            return [self._only(value, what)]
        if self._is_flat_list(value, what):
            return list(value)
        return self._spread(value, self._structure, what)

    def _is_flat_list(self, value: Any, what: str) -> bool:
        """Whether a list has a loss for each output of a nest, in the order of `tf.nest.flatten`."""
        return (
            what == "loss"
            and isinstance(value, (list, tuple))
            and len(_keys(self._structure)) != len(value) == len(self.names)
            and not any(isinstance(item, (list, tuple)) for item in value)
        )

    def split_tensors(self, value: Any, what: str, wanted: list[bool] | None = None) -> list[Any]:
        """Returns the parts of targets or predictions as `split` does; each output must have its own.

        Args:
            value: a nest of tensors.
            what: its name in errors.
            wanted: which outputs need one; a nest with as many tensors as that are for them in order.
        """
        if wanted is not None and not self.single and value is not None and not all(wanted):
            given = tf.nest.flatten(value)
            if not isinstance(value, Mapping) and len(given) == sum(wanted):
                rest = iter(given)
                return [next(rest) if is_wanted else None for is_wanted in wanted]
        if not self.single and value is not None and not tf.nest.is_nested(value):
            raise ValueError(
                f"y_true and y_pred have different structures. The model has {len(self.names)} outputs"
                f"{self._listed()}, but `{what}` is one tensor. Pass a list or a dict with one for each "
                "output."
            )
        if what == "y" and isinstance(value, Mapping) and wanted is not None and not self.single:
            self._check_complete(value, wanted)
        return self.split(value, what)

    def _check_complete(self, y: Mapping[Any, Any], wanted: list[bool]) -> None:
        """Raises an error for targets in a dict that lacks those of an output with a loss."""
        keys = _keys(self._structure)
        if len(keys) != len(self.names):  # A nest of outputs.
            return
        entries = zip(keys, self.names, wanted, strict=True)
        missing = [
            key for key, name, is_wanted in entries if is_wanted and not {key, name} & y.keys()
        ]
        if missing:
            raise ValueError(
                f"y_true and y_pred have different structures. `y` lacks the targets of {missing}, for which "
                f"there is a loss or a metric. Received: a dict with the keys {list(y)}. An output without "
                "targets gets None, here or as its loss in `compile()`."
            )

    def _only(self, value: Any, what: str) -> Any:
        keys = [self.names[0], *self._paths[0]]
        if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in keys:
            return next(iter(value.values()))
        is_whole = what in ("loss", "loss_weights")
        if is_whole and isinstance(value, Mapping) and "class_name" not in value:
            expected = [key for key in keys if key is not None]
            named = f" Expected the key {expected[0]!r}." if expected else ""
            thing = "the loss" if what == "loss" else "the number"
            raise ValueError(
                f"`{what}` has the keys {list(value)}, but the model has one output.{named} Pass {thing} "
                "alone."
            )
        return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value

    def _spread(self, value: Any, structure: Any, what: str) -> list[Any]:
        if not tf.nest.is_nested(structure):
            return [value]
        keys = _keys(structure)
        if isinstance(value, Mapping):
            # The names of the model's layers are accepted for list indices and for other keys.
            names: list[Any] = self.names if len(keys) == len(self.names) else keys
            unknown = [key for key in value if key not in keys and key not in names]
            if unknown:
                # As in Keras: the path is not in the nest of losses, or the argument is wrong.
                kind = KeyError if what == "loss" and isinstance(structure, Mapping) else ValueError
                raise kind(
                    f"Invalid `{what}`: the keys {unknown}, in the `{what}` argument, can't be found in "
                    "either the model's outputs or their names. Expected keys from: "
                    f"{names if None not in names else keys}"
                )
            values = [
                value.get(key, value.get(name)) for key, name in zip(keys, names, strict=True)
            ]
        elif isinstance(value, (list, tuple)):
            if len(value) != len(keys):
                raise ValueError(
                    f"{_RULES.get(what, '')}`{what}` has {len(value)} entries, but the model has "
                    f"{len(keys)} outputs{self._listed()}. Pass one for each."
                )
            values = list(value)
        else:
            values = [value] * len(keys)
        return [
            leaf
            for key, part in zip(keys, values, strict=True)
            for leaf in self._spread(part, structure[key], what)
        ]

    def _listed(self) -> str:
        return "" if None in self.names else f": {self.names}"


def _paths(structure: Any, path: Path = ()) -> list[Path]:
    """Returns the paths of the leaves of a nest, in the order of `tf.nest.flatten`."""
    if not tf.nest.is_nested(structure):
        return [path]
    return [p for key in _keys(structure) for p in _paths(structure[key], (*path, key))]


def _keys(structure: Any) -> list[Any]:
    """Returns the keys of a dict, or the indices of a list, in the order of `tf.nest`."""
    return sorted(structure) if isinstance(structure, Mapping) else list(range(len(structure)))


def as_list(value: Any) -> list[Any]:
    """Returns a list or tuple as a list; anything else as the only entry of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]
