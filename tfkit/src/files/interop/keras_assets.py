"""Assets: files that layers write into a `.keras` archive by `save_assets`, and read by `load_assets`."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry.configuration import is_ours, owner_of
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras_layout
from tfkit.src.files.interop.keras_archive import ASSETS, Archive, is_asset
from tfkit.src.files.interop.keras_folder import Folder
from tfkit.src.files.saving.errors import LoadError


def write(archive: zipfile.ZipFile, places: list[tuple[str, Layer]]) -> None:
    """Adds the layers' files to the archive, each below the path of its layer.

    Raises:
        ValueError: for the name of a file that could not be read again.
    """
    for path, layer in places:
        if not hasattr(layer, "save_assets"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            layer.save_assets(folder)
            for file in sorted(each for each in Path(folder).rglob("*") if each.is_file()):
                name = keras_layout.join(path, file.relative_to(folder).as_posix())
                if not is_asset(f"{ASSETS}/{name}"):
                    raise ValueError(
                        f"Layer {layer._tfkit.title} writes an asset whose name cannot be in a `.keras` "
                        f"file: {quoted(name)}. Expected names without backslashes and colons."
                    )
                archive.write(file, f"{ASSETS}/{name}")


def by_place(
    archive: Archive | Folder, places: list[tuple[str, Layer]], partly: bool
) -> dict[str, tuple[Layer, list[str]]]:
    """Returns the layers that read assets, by their paths, with the names of their files.

    A file belongs to the layer with the longest path above it.

    Args:
        archive: the archive.
        places: layers with their paths.
        partly: whether files that belong to no layer are left out.

    Raises:
        LoadError: for a file that belongs to no layer.
    """
    reading = {path: layer for path, layer in places if hasattr(layer, "load_assets")}
    found: dict[str, tuple[Layer, list[str]]] = {}
    for name in archive.assets():
        inside = name.removeprefix(f"{ASSETS}/")
        steps = inside.split("/")[:-1]
        # The deepest layer on the path: an asset may itself be in folders.
        above = ("/".join(steps[:count]) for count in range(len(steps), -1, -1))
        path = next((each for each in above if each in reading), None)
        if path is not None:
            found.setdefault(path, (reading[path], []))[1].append(name)
        elif not partly:
            raise LoadError(
                f"File {archive.path}: the asset {quoted(inside)} belongs to no layer of the model that has "
                f"a method `load_assets()`. Those that have: {quoted(list(reading))}"
            )
    return found


def loader(
    archive: Archive | Folder, layer: Layer, names: list[str], path: str, folder: str
) -> Callable[[], None]:
    """Returns a function that lets a layer read its assets.

    Built-in layers get bytes: no name in the archive becomes a path for them. A user's layer finds
    files below `folder`.
    """
    place = f"{ASSETS}/{path}".rstrip("/")
    reading: Any = layer  # It has the methods, which only some layers have.

    def hand_over() -> None:
        for name in names:
            reading._load_asset(name.removeprefix(f"{place}/"), archive.data(name))

    def write_and_load() -> None:
        for name in names:
            archive.write_to(name, Path(folder, *name.split("/")))
        reading.load_assets(str(Path(folder, *place.split("/"))))

    return write_and_load if needs_files(layer) else hand_over


def needs_files(layer: Layer) -> bool:
    """Whether a layer reads its assets from files, by a user's `load_assets`."""
    is_own = is_ours(owner_of(type(layer), "load_assets"))
    return not (is_own and layer._tfkit_assets_are_variables)
