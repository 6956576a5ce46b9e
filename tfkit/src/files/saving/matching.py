"""Matches stored values to variables, and reports what does not fit."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import limits
from tfkit.src.base.names import nearest
from tfkit.src.base.quoting import quoted, shown
from tfkit.src.files.saving import float_widths
from tfkit.src.files.saving.errors import LoadError

Rename = Mapping[str, str] | Callable[[str], str]
_REMEDY = "Pass `skip_mismatch=True` to load what fits, or `rename={old: new}` for what has moved."
_REMEDIES = {"optimizer": "Pass `compile=False` to load the model without its optimizer."}
Stored = dict[str, tuple[tuple[int, ...], str]]


@dataclasses.dataclass
class LoadReport:
    """The result for each variable of a model, and for each value in a file.

    Args:
        file: the file.
        loaded: paths of the variables that now have values of the file; none unless given.
        skipped: paths of the other variables, with the reasons; none unless given.
        unused: paths of values in the file that no variable has, with the reasons; none unless given.

    Example:
        >>> import tempfile
        >>> layers = tfkit.layers
        >>> body = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, name="a")])
        >>> larger = tfkit.Sequential(
        ...     [tfkit.Input((3,)), layers.Dense(2, name="a"), layers.Dense(1)]
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     body.save_weights(f"{folder}/body.weights.h5")
        ...     report = larger.load_weights(f"{folder}/body.weights.h5", skip_mismatch=True)
        >>> len(report.loaded), len(report.skipped), len(report.unused)
        (2, 2, 0)
    """

    file: str
    loaded: list[str] = dataclasses.field(default_factory=list)
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
    unused: dict[str, str] = dataclasses.field(default_factory=dict)

    def skip_below(self, prefix: str, reason: str) -> None:
        """Marks everything to be loaded below a path as skipped."""
        self.skipped |= {path: reason for path in self.loaded if path.startswith(prefix)}
        self.loaded = [path for path in self.loaded if not path.startswith(prefix)]

    def __repr__(self) -> str:
        counts = (
            f"{len(self.loaded)} loaded, {len(self.skipped)} skipped, {len(self.unused)} unused"
        )
        return f"<LoadReport of {self.file}: {counts}>"

    def __str__(self) -> str:
        lines = [("loaded", shown(path), "") for path in self.loaded]
        lines += [("skipped", shown(path), reason) for path, reason in self.skipped.items()]
        lines += [("unused", shown(path), reason) for path, reason in self.unused.items()]
        width = max((len(path) for _, path, _ in lines), default=0)
        rows = (f"{fate:<8} {path:<{width}} {reason}".rstrip() for fate, path, reason in lines)
        return "\n".join([repr(self), *rows])


def renamed(paths: Iterable[str], rename: Rename, file: Any) -> dict[str, str]:
    """Returns a mapping from new paths to stored paths.

    Args:
        paths: the stored paths.
        rename: a function of a path, or a dict from old to new beginnings of paths, in whole steps; the
            longest one applies.
        file: the file, for messages.

    Raises:
        ValueError: for an entry that no path begins with, and if two paths become one.
    """
    used = set()

    def by_prefix(path: str) -> str:
        assert isinstance(rename, Mapping)
        steps = path.split("/")
        # The longest prefix counts; the empty one is that of every path.
        for count in range(len(steps), -1, -1):
            prefix = "/".join(steps[:count])
            if prefix in rename:
                used.add(prefix)
                return "/".join(filter(None, [rename[prefix], *steps[count:]]))
        return path

    paths = list(paths)
    new: dict[str, str] = {}
    for path in paths:
        target = by_prefix(path) if isinstance(rename, Mapping) else rename(path)
        if not isinstance(target, str) or target in new:
            raise ValueError(
                f"`rename` turns `{shown(path)}` into {quoted(target)}"
                + (
                    f", which `{shown(new[target])}` is already"
                    if target in new
                    else ", which is not a path"
                )
                + f". File: {file}"
            )
        new[target] = path
    idle = sorted(set(rename) - used) if isinstance(rename, Mapping) else []
    if idle:
        raise ValueError(
            f"`rename` has entries that no path in {file} begins with: {idle}.{_nearest(idle[0], paths)}"
        )
    return new


def by_layer_name(
    paths: Iterable[str], stored_names: dict[str, str], names: dict[str, str], file: Any
) -> dict[str, str]:
    """Returns a mapping from paths below the model's layers to stored paths below layers of the same names.

    Args:
        paths: the stored paths; paths that are not below a layer with a name in the model are left out.
        stored_names: the names that users gave to the layers of the stored model, by path.
        names: the names that users gave to the layers of the model, by path.
        file: the file, for messages.

    Raises:
        ValueError: if two layers have the same name, and if no name is in both.
    """
    common = {*stored_names.values()} & {*names.values()}
    if not common:
        raise ValueError(
            f"`by_name=True` finds no layer of the same name in {file} and in the model. Names that tfkit "
            "made do not count, for they depend on what else the process has made. In the file: "
            f"{quoted(sorted(stored_names.values()))}. In the model: {quoted(sorted(names.values()))}"
        )
    for one in (stored_names, names):
        for name, count in collections.Counter(one.values()).items():
            if count > 1 and name in common:
                same = sorted(path for path, other in one.items() if other == name)
                raise ValueError(
                    f"`by_name=True` cannot tell layers of one name apart: {quoted(name)} is the name of "
                    f"{quoted(same)}. Give them different names, or load by path, with `rename`."
                )
    targets = {name: path for path, name in names.items()}
    new = {}
    for path in paths:
        steps = path.split("/")
        # The innermost layer with a common name decides.
        for count in range(len(steps) - 1, 0, -1):
            target = targets.get(stored_names.get("/".join(steps[:count]), ""))
            if target is not None:
                new["/".join([target, *steps[count:]])] = path
                break
    return new


@dataclasses.dataclass
class Match:
    """The variables and values that match, and those that do not.

    Args:
        fits: path of a variable -> stored path of its value.
        missing: variables without a stored value, with the reasons.
        different: variables whose stored values are of a different shape or dtype, with the reasons.
        unexpected: stored values without a variable, with the reasons.
        casts: variables among those that fit whose stored values are floats of a different width, with both.
    """

    fits: dict[str, str]
    missing: dict[str, str]
    different: dict[str, str]
    unexpected: dict[str, str]
    casts: dict[str, str] = dataclasses.field(default_factory=dict)

    def drop(self, paths: Iterable[str]) -> None:
        """Removes variables from those that fit."""
        for path in paths:
            self.fits.pop(path, None)
            self.casts.pop(path, None)

    def report(self, file: Any) -> LoadReport:
        """Returns a report in which everything that does not match is left out."""
        missing = {path: f"missing in the file: {reason}" for path, reason in self.missing.items()}
        unexpected = {
            path: f"not in the model: {reason}" for path, reason in self.unexpected.items()
        }
        return LoadReport(str(file), list(self.fits), missing | self.different, unexpected)


def match(
    variables: dict[str, tf.Variable],
    stored: Stored,
    places: dict[str, str],
    read: Callable[[str], np.ndarray],
) -> Match:
    """Compares a model with a file.

    Floats of a different width fit, unless a value would become infinite.

    Args:
        variables: the variables by path.
        stored: shapes and dtypes of the stored values, by stored path.
        places: path in the model -> stored path.
        read: returns the values at a stored path, for comparisons that need values.
    """
    found = Match({}, {}, {}, {})
    left = {path: place for path, place in places.items() if path not in variables}
    absent = [path for path in variables if path not in places]
    # Each hint compares a path with all others, which takes long for large models.
    hints = len(absent) * len(left) <= limits.PAIRS.most
    for path, variable in variables.items():
        expected = tuple(variable.shape), variable.dtype.name
        if path not in places:
            found.missing[path] = f"{describe(*expected)}{_nearest(path, left) if hints else ''}"
            continue
        shape, dtype = stored[places[path]]
        reason = f"the file has {describe(shape, dtype)}, the model {describe(*expected)}"
        if (shape, dtype) == expected:
            found.fits[path] = places[path]
        elif shape != expected[0] or not float_widths.is_other_width(dtype, expected[1]):
            found.different[path] = reason
        elif lost := float_widths.why_lost(read(places[path]), expected[1]):
            found.different[path] = f"{reason}: {lost}"
        else:
            found.fits[path] = places[path]
            found.casts[path] = f"{dtype} -> {expected[1]}"
    for path, place in left.items():
        moved = "" if path == place else f", loaded as {shown(path)}"
        near = _nearest(path, absent) if hints else ""
        found.unexpected[place] = f"{describe(*stored[place])}{moved}{near}"
    return found


def check(found: Match, file: Any, group: str, partly: bool = False) -> None:
    """Raises an error if something does not match.

    Args:
        found: the comparison.
        file: the file, for the message.
        group: name of the group, for the message.
        partly: whether variables without a value, and values without a variable, are allowed.

    Raises:
        LoadError: with a table.
    """
    kinds = {"different": found.different}
    if not partly:
        kinds = {
            "missing in the file": found.missing,
            "different": found.different,
            "not in the model": found.unexpected,
        }
    lines = [
        f"  {kind + ':':<21} {shown(path)}: {reason}"
        for kind, paths in kinds.items()
        for path, reason in itertools.islice(paths.items(), limits.LINES.most)
    ]
    if lines:
        kept = lines[: limits.LINES.most]
        more = sum(map(len, kinds.values())) - len(kept)
        raise LoadError(
            f"File {file} does not fit the model ({group}); nothing was loaded:\n"
            + "\n".join(kept + [f"  and {more:,} more"] * (more > 0))
            + f"\n{_remedy(found, group)}"
        )


def _remedy(found: Match, group: str) -> str:
    """Returns what a user can do about values that do not fit."""
    if any(path.rpartition("/")[2].startswith("lora_") for path in found.unexpected):
        return (
            "The file has matrices of LoRA that cannot be added to weights, because it has no `lora_alpha` "
            "for them, or layers share the weight: call `enable_lora(rank, lora_alpha)` on these layers "
            "first, or write the sums with `tfkit.interop.keras.save_weights(model, path)`."
        )
    return _REMEDIES.get(group, _REMEDY)


def describe(shape: Any, dtype: str) -> str:
    """Returns a description of a shape and dtype."""
    return f"{tuple(shape)} {dtype}"


def _nearest(path: str, others: Iterable[str]) -> str:
    """Returns the most similar path among others, as a question."""
    near = nearest(path, others, 0.6)
    return f" (is it {shown(near)}?)" if near else ""
