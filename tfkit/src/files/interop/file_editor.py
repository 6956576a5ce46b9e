"""`KerasFileEditor`: shows, changes and writes a file of weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import did_you_mean
from tfkit.src.base.quoting import quoted
from tfkit.src.base.terminal import say
from tfkit.src.files.interop import keras_contents, keras_files, keras_hdf5, keras_hdf5_writing
from tfkit.src.files.interop.keras_archive import METADATA
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import contents, entries, hdf5, hdf5_writing
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.files.saving.errors import check_exists
from tfkit.src.files.saving.weights import check_built, check_writable

_SUFFIXES = (".keras", ".weights.h5")
_VARS = "vars"  # Keras's group for the weights of a layer.

Tree = dict[str, Any]  # Objects by name, and weights, which are arrays.


class KerasFileEditor:
    """Shows and changes the weights in a file, to adapt an old file to a model that has changed.

    Files of Keras, `.keras` and `.weights.h5`, and tfkit's own `.weights.h5` are read, with the checks of
    `load_weights`, and are written in their original form. Nothing is written before `save`. An object is
    a layer, an optimizer, or an object that holds layers. Its name is its path, `layers/dense_2`, or the last
    part of the path if no other object has the same.

    Args:
        filepath: path that ends in `.keras` or `.weights.h5`.

    Attributes:
        weights_dict: the contents of the file: a dict for each object, an array for each weight.
        metadata: the metadata of a `.keras` file; `None` for other files.

    Raises:
        ValueError: for a path with a different extension.
        LoadError: for a damaged file, and for one with links or storage that is not plain.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="head")])
        >>> path = Path(tempfile.mkdtemp(), "model.weights.h5")
        >>> model.save_weights(path)
        >>> editor = KerasFileEditor(path)  # doctest: +ELLIPSIS
        tfkit weights file '...model.weights.h5'
        >>> editor.delete_weight("head", "bias")
        >>> editor.summary()
        Weights structure
          head
            kernel: shape=(3, 2), dtype=float32
        >>> editor.save(path)
    """

    @shortened
    def __init__(self, filepath: Any) -> None:
        path = Path(filepath)
        if not path.name.endswith(_SUFFIXES):
            raise ValueError(
                "Invalid filename: expected a `.keras` or `.weights.h5` extension. "
                f"Received: filepath={filepath}"
            )
        check_exists(path)
        self.metadata: dict[str, Any] | None = None
        self.weights_dict: Tree = {}
        self._names: dict[str, str] = {}  # The names that users have given to layers, by path.
        self._alphas: dict[str, float] = {}  # The `lora_alpha` of layers that have LoRA, by path.
        self._kept: dict[str, Any] = {}  # Values that belong to no object, such as states of seeds.
        self._is_of_keras = keras_files.is_keras_file(path)
        if self._is_of_keras:
            self._read_keras(path)
        else:
            self._read_own(path)
        kind = "model" if path.suffix == ".keras" else "weights"
        say(f"{'Keras' if self._is_of_keras else 'tfkit'} {kind} file '{path}'")

    def _read_keras(self, path: Path) -> None:
        with keras_files.open_file(path) as reader:
            archive = getattr(reader, "archive", None)
            if archive is not None:
                self.metadata = keras_hdf5.parse(path, METADATA, archive.text(METADATA))
            for place in reader.datasets:
                # The empty step makes sure that there are three parts, as weights of the model
                # itself have no group above `vars`.
                *steps, holder, weight = ("", *place.split("/"))
                group = "/".join(filter(None, steps))
                if holder != _VARS:
                    self._kept[place] = reader.read(place)
                    continue
                _made(self.weights_dict, group)[weight] = reader.read(place)
                name = reader.name_of(group)
                if name is not None:
                    self._names[group] = name

    def _read_own(self, path: Path) -> None:
        with hdf5.Reader(path) as reader:
            self._names = dict(reader.text(entries.NAMES) or {})
            self._alphas = dict(reader.text(entries.LORA) or {})
            for place in reader.shapes(entries.WEIGHTS):
                group, _, weight = place.rpartition("/")
                _made(self.weights_dict, group)[weight] = reader.value(entries.WEIGHTS, place)

    # --- Showing --------------------------------------------------------------------------------------

    def summary(self) -> None:
        """Prints the objects with their weights."""
        say("Weights structure")
        for depth, name, item in _lines(self.weights_dict, 1):
            is_weight = not isinstance(item, dict)
            text = f": shape={item.shape}, dtype={item.dtype}" if is_weight else ""
            say(f"{'  ' * depth}{name}{text}")

    @shortened
    def compare(self, reference_model: ModelLike) -> dict[str, Any]:
        """Compares the weights with a model's, and prints the differences.

        Args:
            reference_model: a built model.

        Returns:
            A dict: `"status"`, `"success"` or `"error"`; `"error_count"`, the number of objects and weights
            that differ; `"match_count"`, the number of weights that are equal.

        Raises:
            ValueError: for a model that is not built.
        """
        check_built(reference_model, "comparing")
        expected, found = self._expected(reference_model), self._found()
        errors: list[str] = []
        matches = 0
        for group, shapes in expected.items():
            if group not in found:
                errors.append(f"Object `{group}` is in the model, and not in the file")
                continue
            stored = found[group]
            for weight, shape in shapes.items():
                if weight not in stored:
                    errors.append(f"Weight `{group}/{weight}` is in the model, and not in the file")
                elif stored[weight] != shape:
                    errors.append(
                        f"Weight `{group}/{weight}` has shape {stored[weight]} in the file, and {shape} in "
                        "the model"
                    )
                else:
                    matches += 1
            errors += [
                f"Weight `{group}/{weight}` is in the file, and not in the model"
                for weight in stored
                if weight not in shapes
            ]
        errors += [
            f"Object `{group}` is in the file, and not in the model"
            for group in found
            if group not in expected
        ]
        for error in errors:
            say(error)
        say(f"{len(errors)} differences, {matches} weights that are alike")
        status = "error" if errors else "success"
        return {"status": status, "error_count": len(errors), "match_count": matches}

    def _found(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Returns the shapes of the weights of each object in the file that has any."""
        return _by_object({path: value.shape for path, value in _weights(self.weights_dict)})

    def _expected(self, model: ModelLike) -> dict[str, dict[str, tuple[int, ...]]]:
        """Returns the shapes of the weights of each object in a model that has any."""
        values: dict[str, Any]
        if self._is_of_keras:
            optimizer = getattr(model, "optimizer", None)
            has_state = optimizer is not None and optimizer.built
            _, values = keras_contents.contents(model, optimizer if has_state else None)
        else:
            values = contents.model_state(model)
        if self._is_of_keras:
            # Keras has the weights of an object in a group `vars` inside of it.
            known = {path.rpartition("/") for path in values}
            values = {
                f"{group.removesuffix(_VARS)}{weight}": values[f"{group}/{weight}"]
                for group, _, weight in known
                if group.rpartition("/")[2] == _VARS
            }
        return _by_object({path: tuple(value.shape) for path, value in values.items()})

    # --- Changing -------------------------------------------------------------------------------------

    @shortened
    def rename_object(self, object_name: str, new_name: str) -> None:
        """Renames an object.

        Args:
            object_name: name or path of the object.
            new_name: the last part of its new path.

        Raises:
            ValueError: for an object that does not exist, and for a name that is already used or has a `/`.
        """
        path = self._path_of(object_name)
        above, _, name = path.rpartition("/")
        if "/" in new_name or not new_name:
            raise ValueError(
                "`new_name` must be the last part of a path, not a full path. "
                f"Received: new_name={new_name!r}"
            )
        holder = _made(self.weights_dict, above)
        if new_name in holder:
            raise ValueError(f"Name {new_name!r} is taken: rename or delete that object first.")
        holder[new_name] = holder.pop(name)
        self._move(path, f"{above}/{new_name}".lstrip("/"))

    @shortened
    def delete_object(self, object_name: str) -> None:
        """Removes an object and its contents.

        Args:
            object_name: name or path of the object.

        Raises:
            ValueError: for an object that does not exist.
        """
        path = self._path_of(object_name)
        above, _, name = path.rpartition("/")
        del _made(self.weights_dict, above)[name]
        self._move(path, None)

    @shortened
    def add_object(self, object_path: str, weights: Mapping[str, Any]) -> None:
        """Adds an object.

        Args:
            object_path: its path; the object that holds it must exist.
            weights: dict from names of weights to arrays, such as `{"0": kernel, "1": bias}`.

        Raises:
            ValueError: for a path that exists or has no such parent, and for values that are not arrays.
        """
        arrays = _arrays(weights)
        above, _, name = object_path.rpartition("/")
        holder = self.weights_dict if not above else self._object(above)
        if holder is None:
            raise ValueError(f"Path {above!r} is not in the file: add that object first.")
        if not name or name in holder:
            raise ValueError(
                f"Object {object_path!r} is in the file already. Use `add_weights` to change its weights."
            )
        holder[name] = arrays

    @shortened
    def delete_weight(self, object_name: str, weight_name: str) -> None:
        """Removes a weight of an object.

        Args:
            object_name: name or path of the object.
            weight_name: name of the weight, such as `"0"`.

        Raises:
            ValueError: for an object or a weight that does not exist.
        """
        found = self._object(self._path_of(object_name)) or {}
        if isinstance(found.get(weight_name), (dict, type(None))):
            known = [name for name, item in found.items() if not isinstance(item, dict)]
            raise ValueError(
                f"Object {object_name!r} has no weight {weight_name!r}. Its weights: {known}"
            )
        del found[weight_name]

    @shortened
    def add_weights(self, object_name: str, weights: Mapping[str, Any]) -> None:
        """Adds weights to an object; existing ones are replaced.

        Args:
            object_name: name or path of the object.
            weights: dict from names of weights to arrays.

        Raises:
            ValueError: for an object that does not exist, and for values that are not arrays.
        """
        arrays = _arrays(weights)
        found = self._object(self._path_of(object_name)) or {}
        inside = [name for name in arrays if isinstance(found.get(name), dict)]
        if inside:
            raise ValueError(f"{inside} are objects inside of {object_name!r}, and not weights.")
        found.update(arrays)

    # --- Writing --------------------------------------------------------------------------------------

    @shortened
    def save(self, filepath: Any) -> None:
        """Writes the weights to a file, completely or not at all.

        Args:
            filepath: path that ends in `.weights.h5`; an existing file is replaced.

        Raises:
            ValueError: for a path with a different extension.
        """
        path = Path(filepath)
        if not path.name.endswith(_SUFFIXES[1]):
            raise ValueError(
                "Invalid `filepath` argument: expected a `.weights.h5` extension. "
                f"Received: filepath={filepath}"
            )
        check_writable(path, overwrite=True)
        values = dict(_weights(self.weights_dict))
        if not self._is_of_keras:
            texts = {entries.NAMES: self._names, entries.LORA: self._alphas}
            with atomic_write(path) as temporary:
                hdf5_writing.write(temporary, texts, {entries.WEIGHTS: values})
            return
        placed = {}
        for place, value in values.items():
            group, _, weight = place.rpartition("/")
            placed[f"{group}/{_VARS}/{weight}".lstrip("/")] = value
        with atomic_write(path) as temporary, hdf5_writing.Target(temporary, "w+") as target:
            keras_hdf5_writing.write(target, self._names, {**placed, **self._kept})
            target.check()

    def resave_weights(self, filepath: Any) -> None:
        """Writes the weights to a file; an alias of `save`."""
        self.save(filepath)

    # --- Finding --------------------------------------------------------------------------------------

    def _path_of(self, name: str) -> str:
        """Returns the path of an object, given by its path or the last part of it."""
        paths = [path for path, item in _objects(self.weights_dict) if isinstance(item, dict)]
        found = [path for path in paths if path == name] or [
            path for path in paths if path.endswith(f"/{name}")
        ]
        if not found:
            raise ValueError(
                f"Object {name!r} is not in the file.{did_you_mean(name, paths, 0.5)} Use "
                "`editor.summary()` to list all objects."
            )
        if len(found) > 1:
            raise ValueError(
                f"Name {name!r} occurs more than once in the file; pass a complete path, one of {found}."
            )
        return found[0]

    def _object(self, path: str) -> Tree | None:
        return next((item for place, item in _objects(self.weights_dict) if place == path), None)

    def _move(self, old: str, new: str | None) -> None:
        """Moves the data about layers to the new path of an object, or removes it."""
        both: tuple[dict[str, Any], ...] = (self._names, self._alphas)
        for said in both:
            # Also of what is inside of the object.
            for path in [each for each in said if f"{each}/".startswith(f"{old}/")]:
                value = said.pop(path)
                if new is not None:
                    said[new + path.removeprefix(old)] = value

    def __repr__(self) -> str:
        return f"<KerasFileEditor metadata={json.dumps(self.metadata)}>"


def _made(tree: Tree, path: str) -> Tree:
    """Returns the object at a path, and makes it if it is missing."""
    for step in filter(None, path.split("/")):
        tree = tree.setdefault(step, {})
    return tree


def _objects(tree: Tree, above: str = "") -> Iterator[tuple[str, Tree]]:
    """Yields all objects with their paths."""
    pending = [(above, tree)]
    while pending:
        path, found = pending.pop()
        for name, item in found.items():
            if isinstance(item, dict):
                place = f"{path}/{name}".lstrip("/")
                yield place, item
                pending.append((place, item))


def _weights(tree: Tree) -> Iterator[tuple[str, np.ndarray]]:
    """Yields all weights with their paths."""
    for path, found in (("", tree), *_objects(tree)):
        for name, item in found.items():
            if not isinstance(item, dict):
                yield f"{path}/{name}".lstrip("/"), item


def _by_object(shapes: dict[str, tuple[int, ...]]) -> dict[str, dict[str, tuple[int, ...]]]:
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for path, shape in shapes.items():
        group, _, weight = path.rpartition("/")
        found.setdefault(group, {})[weight] = shape
    return found


def _lines(tree: Tree, depth: int) -> Iterator[tuple[int, str, Any]]:
    """Yields the entries of a summary: level, name and item."""
    # Reversed, since the last one is taken first.
    pending = [(depth, name, tree[name]) for name in sorted(tree, reverse=True)]
    while pending:
        level, name, item = pending.pop()
        yield level, name, item
        if isinstance(item, dict):
            pending += [(level + 1, each, item[each]) for each in sorted(item, reverse=True)]


def _arrays(weights: Any) -> Tree:
    """Returns weights passed by a user as arrays."""
    if not isinstance(weights, Mapping):
        raise ValueError(
            "Argument `weights` should be a dict where keys are weight names (usually '0', '1', etc.) and "
            f"values are arrays. Received: {quoted(weights)} (of type {type(weights).__name__})"
        )
    arrays = {str(name): np.array(value) for name, value in weights.items()}
    for name, value in arrays.items():
        if value.dtype.name not in hdf5.DTYPES or "/" in name or not name:
            raise ValueError(
                f"Weight {name!r} cannot be written. Expected an array of numbers, under a name without "
                f"'/'. Received: dtype {value.dtype}"
            )
    return arrays
