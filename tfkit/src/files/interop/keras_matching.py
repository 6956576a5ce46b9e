"""Matches datasets of a Keras file to variables of a model: by name, by order, or not at all."""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfkit.src.base import limits
from tfkit.src.base.quoting import shown
from tfkit.src.base.registry import tables as registry
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras_adapted, keras_layout
from tfkit.src.files.interop.keras_hdf5 import KerasReader, Stored
from tfkit.src.files.interop.keras_layout import Container, Member
from tfkit.src.files.saving import contents, float_widths
from tfkit.src.files.saving.contents import stores_itself
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.files.saving.matching import LoadReport
from tfkit.src.files.saving.own_loading import OwnLoading
from tfkit.src.files.saving.weights import assign


@dataclasses.dataclass
class Plan:
    """The positions of a model's variables in a file.

    Attributes:
        variables: variables by path of their dataset.
        stores: layers that read their variables themselves, by path of their group.
        sure: ids of variables of which the user has said what they are in the file.
    """

    variables: dict[str, tf.Variable] = dataclasses.field(default_factory=dict)
    stores: dict[str, Layer] = dataclasses.field(default_factory=dict)
    sure: frozenset[int] = frozenset()


def plan(places: list[tuple[str, Layer]], renamed: dict[int, str] | None = None) -> Plan:
    """Returns the datasets of layers, given the groups of the layers.

    Args:
        places: layers with the paths of their groups.
        renamed: datasets of single weights at other paths, by id of the weight.
    """
    result = Plan(sure=frozenset(renamed or ()))
    for path, layer in places:
        group = keras_layout.join(path, "vars")
        if stores_itself(layer):
            result.stores[group] = layer
            continue
        for index, weight in enumerate(keras_adapted.stored_weights(layer)):
            result.variables[(renamed or {}).get(id(weight), f"{group}/{index}")] = weight
    return result


class Matcher:
    """Matches a model's layers to groups in a file, and raises an error if that would be a guess.

    Args:
        reader: the file.
        model: the model.
        rename: paths in the model by path in the file, of layers or weights, where the user knows better.
        same_order: whether the class makes its members in the order in which the saved one did.

    Raises:
        LoadError: for a `rename` that names nothing.
    """

    def __init__(
        self, reader: KerasReader, model: Layer, rename: Mapping[str, str] | None, same_order: bool
    ) -> None:
        self._reader = reader
        self._model = model
        self._same_order = same_order
        self._unclear: list[list[tuple[str, str]]] = []
        self._unclear_if_cast: list[list[tuple[str, str]]] = []
        layers = dict(tracking.named_layers(model))
        weights = tracking.named_weights(model)
        self._paths = {id(layer): path for path, layer in layers.items()}
        self._paths |= {id(weight): path for path, weight in weights.items()}
        self._renamed: dict[int, str] = {}
        for stored, here in (rename or {}).items():
            if here not in layers and here not in weights:
                raise LoadError(
                    f"File {reader.path}: `rename` says that {stored!r} is {here!r} in the model, which "
                    f"has no such layer or weight. Expected one of {[*filter(None, layers), *weights]}"
                )
            self._renamed[id(layers.get(here, weights.get(here)))] = stored

    def places(self) -> list[tuple[str, Layer]]:
        """Returns each layer of the model with the path of its group.

        Raises:
            LoadError: if several orders fit and nothing decides.
        """
        places = keras_layout.places(self._model, self._choose)
        for path, layer in places:
            if not registry.is_builtin(type(layer)) and not stores_itself(layer):
                group = keras_layout.join(path, "vars")
                weights = enumerate(keras_adapted.stored_weights(layer))
                self._note_unclear([(f"{group}/{index}", weight) for index, weight in weights])
        if self._unclear and not self._same_order:
            raise LoadError(unclear_message(self._reader.path, self._unclear))
        return places

    def plan(self, places: list[tuple[str, Layer]]) -> Plan:
        """Returns the datasets of all variables of the model."""
        return plan(places, self._renamed)

    def check_casts(self, paths: Iterable[str]) -> None:
        """Raises an error for casts of floats if only the dtype distinguishes members.

        Args:
            paths: the datasets that would be cast.

        Raises:
            LoadError: if members that have the same shapes could be swapped.
        """
        cast = tuple(paths)
        unclear = [
            group
            for group in self._unclear_if_cast
            if any(f"{path}/".startswith(f"{stored}/") for stored, _ in group for path in cast)
        ]
        if unclear and not self._same_order:
            raise LoadError(unclear_message(self._reader.path, unclear))

    def _choose(self, container: Container) -> dict[int, str]:
        paths = keras_layout.by_position(container)
        groups: dict[str, list[Member]] = {}
        for member in container.members:
            if not member.seen and id(member.value) not in self._renamed:
                groups.setdefault(member.kind, []).append(member)
        # tfkit numbers members as it does now; what Keras does follows from the names that it made.
        is_of_keras = self._reader.tfkit_version is None
        if container.order == keras_layout.CREATION and self._same_order and is_of_keras:
            for kind, members in groups.items():
                paths |= self._by_creation(container.path, kind, members)
        for members in groups.values():
            by_name = match_names(
                [member.value for member in members],
                {self._reader.name_of(paths[id(m.value)]): paths[id(m.value)] for m in members},
            )
            if by_name is not None:
                paths |= by_name
            elif container.order in (keras_layout.DICT, keras_layout.CREATION):
                self._note_unclear([(paths[id(m.value)], m.value) for m in members])
        # What the user says comes last, and replaces what was found.
        return paths | {id_: path for id_, path in self._renamed.items() if id_ in paths}

    def _by_creation(self, path: str, kind: str, members: list[Member]) -> dict[int, str]:
        """Returns the paths of layers of one class, if the file has as many, in the order of their creation.

        Keras numbers automatic names in this order, which is certain for one program. The order in which
        layers were attached is not: a list does not say whether its first item was inserted last.
        """
        made = re.compile(rf"{re.escape(kind)}(?:_(\d+))?")
        stored = {
            "/".join(name.split("/")[: path.count("/") + 2]) for name in self._reader.below(path)
        }
        found = {}
        for group in stored:
            if made.fullmatch(group.rpartition("/")[2]):
                name = made.fullmatch(self._reader.name_of(group) or "")
                found[int(name[1] or 0) if name else -1] = group
        layers = [it.value for it in members if it.value.weights or stores_itself(it.value)]
        if (
            -1 in found
            or len(found) != len(layers)
            or any(not it._tfkit_auto_named for it in layers)
        ):
            return {}
        layers.sort(key=lambda layer: layer._tfkit.made)
        return {id(layer): found[key] for layer, key in zip(layers, sorted(found), strict=True)}

    def _note_unclear(self, entries: list[tuple[str, Any]]) -> None:
        """Records the entries that have equal shapes, so that they cannot be distinguished."""
        for unclear, any_width in ((self._unclear, False), (self._unclear_if_cast, True)):
            for alike in same_shapes(entries, set(self._renamed), any_width):
                group = [(path, self._paths.get(id(value), path)) for path, value in alike]
                # Members of one list have an order that is fixed in the file as well: no guess.
                parents = {here.rpartition("/")[0] for _, here in group}
                if len(parents) > 1 or not self._is_in_order(parents.pop(), group):
                    unclear.append(group)

    def _is_in_order(self, path: str, group: list[tuple[str, str]]) -> bool:
        """Whether members have the order of a list or tuple, at a path in the model, that holds them."""
        value: Any = self._model
        for part in path.split("/"):
            if isinstance(value, (list, tuple)) and part.isdigit():
                value = value[int(part)]
            else:
                value = getattr(value, part, None)
        indices = [here.rpartition("/")[2] for _, here in group]
        return isinstance(value, (list, tuple)) and indices == sorted(indices, key=int)


def match_names(values: list[Any], stored: dict[str | None, str]) -> dict[int, str] | None:
    """Returns the layers' paths by id, if users have named all of them and the file has the same names."""
    names = [None if getattr(v, "_tfkit_auto_named", True) else v.name for v in values]
    if None in names or len(set(names)) < len(names) or not set(names) <= set(stored):
        return None
    return {id(value): stored[name] for value, name in zip(values, names, strict=True)}


def same_shapes(
    entries: list[tuple[str, Any]], known: set[int] | None = None, any_width: bool = False
) -> list[list[tuple[str, Any]]]:
    """Returns the layers, containers and weights that could be exchanged for each other.

    Args:
        entries: paths with values.
        known: ids of the objects whose group is known.
        any_width: whether floats of any width are the same.
    """
    groups: dict[Any, list[tuple[str, Any]]] = collections.defaultdict(list)
    for path, value in entries:
        signature = _signature(value, known or set(), any_width)
        if signature:
            groups[signature].append((path, value))
    return [group for group in groups.values() if len(group) > 1]


def _signature(value: Any, known: set[int], any_width: bool) -> Any:
    if id(value) in known:
        return ()
    if isinstance(value, tf.Variable):
        return (_dtype(value, any_width), tuple(value.shape), tracking.made_trainable(value))
    if isinstance(value, Layer):
        return tuple((_dtype(weight, any_width), tuple(weight.shape)) for weight in value.weights)
    if isinstance(value, (list, tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return tuple(filter(None, (_signature(item, known, any_width) for item in items)))
    return ()


def _dtype(weight: tf.Variable, any_width: bool) -> str:
    name = str(weight.dtype.name)
    return "float" if any_width and name in float_widths.FLOATS else name


def _count_by_group(paths: Iterable[str]) -> collections.Counter[str]:
    return collections.Counter(path.rpartition("/")[0] for path in paths)


def unclear_message(path: Path, unclear: list[list[tuple[str, str]]]) -> str:
    """Returns the message for several possible orders."""
    lines = [
        f"  {', '.join(stored for stored, _ in group)} could each be any of "
        f"{', '.join(here for _, here in group)}"
        for group in unclear
    ]
    rename = {stored: here for group in unclear for stored, here in group}
    return (
        f"File {path}: it names some members by their order alone, and they have the same shapes, so that "
        "they could be swapped; nothing was loaded:\n"
        + "\n".join(lines)
        + "\nSay which is which with "
        f"`tfkit.interop.keras.load_weights(model, path, rename={rename})` (shown is the order that the "
        "model has now), pass `same_order=True` there if the class makes its members in the order in which "
        "the saved one did, give the layers names (`name=...`), or load the whole model from a `.keras` file."
    )


# --- Comparing ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Checked:
    """Checked contents of an open file, to be read and assigned.

    Attributes:
        reader: the file.
        values: variables with the paths of their datasets.
        stores: layers that read their variables themselves, with their groups.
        skipped: variables that do not fit, with the reasons.
        unused: datasets that no variable has, with the reasons.
        casts: paths of the datasets that are floats of a different width than the variable, with both dtypes.
        places: the layers with the paths of their groups.
    """

    reader: KerasReader
    values: list[tuple[tf.Variable, str]] = dataclasses.field(default_factory=list)
    stores: list[tuple[str, Layer]] = dataclasses.field(default_factory=list)
    assets: list[tuple[Layer, Callable[[], None]]] = dataclasses.field(default_factory=list)
    skipped: list[tuple[tf.Variable, str]] = dataclasses.field(default_factory=list)
    unused: dict[str, str] = dataclasses.field(default_factory=dict)
    casts: dict[str, str] = dataclasses.field(default_factory=dict)
    places: list[tuple[str, Layer]] = dataclasses.field(default_factory=list)

    def add(self, other: Checked) -> None:
        """Adds other checked contents."""
        self.values += other.values
        self.stores += other.stores
        self.assets += other.assets
        self.skipped += other.skipped
        self.unused |= other.unused
        self.casts |= other.casts

    def assign(self, paths: dict[str, tf.Variable], skip_mismatch: bool = False) -> LoadReport:
        """Assigns everything, beginning with what can still fail; after an error, no weight has changed.

        Args:
            paths: the variables of the model by path, for the report.
            skip_mismatch: whether a layer that cannot load its variables is skipped.
        """
        names = {id(variable): path for path, variable in paths.items()}
        report = LoadReport(str(self.reader.path), unused=self.unused)
        report.skipped = {names.get(id(v), v.name): reason for v, reason in self.skipped}
        own = OwnLoading(self.reader.path, skip_mismatch)
        for group, layer in self.stores:
            store = {
                path.removeprefix(f"{group}/"): self.reader.read(path)
                for path in self.reader.below(group)
            }
            fates = [names[id(variable)] for variable in layer.variables if id(variable) in names]
            # An optimizer has only a name.
            reason = own.load_variables(layer, getattr(layer, "path", layer.name), store)
            if reason is None:
                report.loaded += fates
            else:
                report.skipped |= dict.fromkeys(fates, reason)
        # What can fail comes first; assignments of checked values cannot.
        for layer, load in self.assets:
            own.load_assets(layer, load)
        for variable, path in self.values:
            assign(variable, self.reader.read(path))
            report.loaded.append(names.get(id(variable), path))
        read = {id(variable) for variable, _ in self.values}
        keras_adapted.empty(keras_adapted.adapted(self.places), read)
        casts = {
            names.get(id(v), path): self.casts[path]
            for v, path in self.values
            if path in self.casts
        }
        float_widths.warn(self.reader.path, casts)
        return report


def check(
    reader: KerasReader,
    plan: Plan,
    group: str = "",
    apart: tuple[str, ...] = (),
    skip_mismatch: bool = False,
    skipped: contents.Skipped | None = None,
) -> Checked:
    """Compares the datasets of a group with the variables of a plan, by path, shape and dtype.

    Args:
        reader: the file.
        plan: the variables by path.
        group: its path; the root if it is empty.
        apart: beginnings of paths that are read elsewhere.
        skip_mismatch: whether mismatches are left out.
        skipped: layers and weights that are not changed.

    Raises:
        LoadError: with a table of the mismatches.
    """
    stored = {path: it for path, it in reader.below(group).items() if not path.startswith(apart)}
    own = tuple(f"{prefix}/" for prefix in plan.stores)
    stores = plan.stores.items()
    result = Checked(
        reader, stores=[(p, it) for p, it in stores if not skipped or it not in skipped]
    )
    lines = []
    # The variables of a layer are numbered: if one is missing, those after it have different numbers.
    counts = [_count_by_group(paths) for paths in (stored, plan.variables)]
    for path, variable in plan.variables.items():
        expected = Stored(tuple(variable.shape), variable.dtype.name)
        label = getattr(variable, "path", "")
        if skipped and variable in skipped:
            result.skipped.append((variable, "in `objects_to_skip`"))
            continue
        if path not in stored:
            lines.append(f"  missing in the file:  {shown(path)} {expected} ({label})")
            result.skipped.append((variable, "missing in the file"))
            continue
        found = stored[path]
        reason = f"the file has {found}, the model {expected}"
        parent = path.rpartition("/")[0]
        if (
            skip_mismatch
            and counts[0][parent] != counts[1][parent]
            and id(variable) not in plan.sure
        ):
            numbers = [count[parent] for count in counts]
            why = "the file has {} variables of this layer, the model {}".format(*numbers)
            result.skipped.append((variable, why))
            result.unused[path] = why
            continue
        if found != expected:
            other_width = float_widths.is_other_width(found.dtype, expected.dtype)
            if found.shape != expected.shape or not other_width:
                lost: str | None = reason
            elif lost := float_widths.why_lost(reader.read(path), expected.dtype):
                lost = f"{reason}: {lost}"
            if lost:
                lines.append(f"  different:            {shown(path)}: {lost} ({label})")
                result.skipped.append((variable, lost))
                continue
            result.casts[path] = f"{found.dtype} -> {expected.dtype}"
        result.values.append((variable, path))
    for path, it in stored.items():
        if path not in plan.variables and not path.startswith(own):
            lines.append(f"  not in the model:     {shown(path)} {it}")
            result.unused[path] = "not in the model"
    if lines and not skip_mismatch:
        raise LoadError(
            f"File {reader.path} does not fit the model, whose paths and shapes must match; nothing was "
            "loaded:\n"
            + "\n".join(lines[: limits.LINES.most])
            + (f"\n  and {more:,} more" if (more := len(lines) - limits.LINES.most) > 0 else "")
        )
    return result
