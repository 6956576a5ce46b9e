"""Checks what a SavedModel would do to this machine, from its file, before TensorFlow loads it.

A SavedModel is a program, and some of TensorFlow's operations read and write files, talk to other
machines, or call Python. A model needs none of them to answer requests.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from tfkit.src.borrowed.private import parse_saved_model
from tfkit.src.export.allowed_operations import is_allowed
from tfkit.src.files.saving.errors import LoadError

_SAVERS = {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename"}
_TEXT_FILE_TABLE = {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_STREAMS = {b"stdout", b"stderr", b"log(info)", b"log(warning)", b"log(error)"}


def check_saved_model(folder: str) -> None:
    """Raises an error for operations on files, other machines, processes or Python.

    Two uses of files are fine. Operations that save and restore variables, which only the SavedModel's saver
    runs; and tables that read their vocabulary from the model's own assets.

    Args:
        folder: the SavedModel.

    Raises:
        LoadError: with the reason.
    """
    _check_files(folder)
    try:
        model = parse_saved_model(folder)  # The loader reads the same file.
    except OSError as error:
        raise LoadError(f"{folder!r} is not a SavedModel, or is damaged: {error}") from None
    if len(model.meta_graphs) != 1 or not model.meta_graphs[0].HasField("object_graph_def"):
        raise _refusal(folder, "it is from TensorFlow 1, whose graphs run when they are loaded")
    graph = _Graph(model.meta_graphs[0])
    for where, node in graph.nodes():
        if node.op in _TEXT_FILE_TABLE:
            if not graph.reads_asset(where, node):
                raise _refusal(folder, f"a table reads a file that is not an asset, in {where}")
        elif node.op in _SAVERS:
            if not graph.only_saves(where, node):
                raise _refusal(folder, f"the operation {node.op} in {where}")
        elif not graph.calls_function(node) and not is_allowed(node.op):
            raise _refusal(folder, f"the operation {node.op} in {where}")
        elif node.op == "PrintV2" and node.attr["output_stream"].s not in _STREAMS | {b""}:
            raise _refusal(folder, f"it prints to a file, in {where}")
    for asset in model.meta_graphs[0].asset_file_def:
        name = asset.filename
        if not name or os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
            raise _refusal(folder, f"an asset outside of its folder: {name!r}")


def _check_files(folder: str) -> None:
    """Raises an error for what is not a plain file or folder: it leads elsewhere, or never ends."""
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            # Of the link itself, not of what it leads to.
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                raise _refusal(folder, f"a link: {path!r}")
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise _refusal(folder, f"a pipe, or the like: {path!r}")


def _refusal(folder: str, what: str) -> LoadError:
    return LoadError(
        f"SavedModel {folder!r} is refused because of {what}. A SavedModel is a program: if you trust "
        "whoever made it, pass `trusted=True`."
    )


_MAIN = "the main graph"


class _Graph:
    """The functions of a SavedModel, and their calls of each other."""

    def __init__(self, meta_graph: Any) -> None:
        self._main = {node.name: node for node in meta_graph.graph_def.node}
        self._saver = meta_graph.saver_def
        self._signatures = meta_graph.signature_def
        self._objects = meta_graph.object_graph_def
        self._library = meta_graph.graph_def.library
        self._functions = {each.signature.name: each for each in self._library.function}

    @functools.cached_property
    def _callable(self) -> set[str]:
        """The functions that a loaded model can call, or that TensorFlow may call instead of them."""
        roots = [*self._objects.concrete_functions]
        for node in self._objects.nodes:
            roots += node.function.concrete_functions
            roots.append(node.bare_concrete_function.concrete_function_name)
        # Functions for gradients are called by name, without a node that names them.
        for gradient in (*self._library.gradient, *self._library.registered_gradients):
            roots.append(gradient.gradient_func)
        # Grappler may replace a call with a call of another function that declares the same interface.
        roots += [each for each, it in self._functions.items() if "api_implements" in it.attr]
        outputs = [
            info.name for each in self._signatures.values() for info in each.outputs.values()
        ]
        roots += self._called_in_main(outputs)
        return self._reached(roots)

    @functools.cached_property
    def _saving(self) -> set[str]:
        """The functions that the saver runs."""
        saver = self._saver
        ends = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
        return self._reached(self._called_in_main(ends))

    def _called_in_main(self, ends: Iterable[str]) -> list[str]:
        """Returns the functions that the main graph calls for some of its tensors or operations."""
        left, seen, called = [operation_of(name) for name in ends], set(), []
        while left:
            node = self._main.get(left.pop())
            if node is not None and node.name not in seen:
                seen.add(node.name)
                left += map(operation_of, node.input)
                called += _called(node)
        return called

    def _reached(self, roots: list[str]) -> set[str]:
        """Returns the functions in `roots`, and those that they call."""
        found: set[str] = set()
        while roots:
            name = roots.pop()
            if name in self._functions and name not in found:
                found.add(name)
                for node in self._functions[name].node_def:
                    roots += _called(node)
        return found

    def only_saves(self, where: str, node: Any) -> bool:
        """Whether only the saver runs a node."""
        if where == _MAIN:
            # Python runs nothing of the main graph; the parts that C++ runs are checked for serving.
            return True
        return where in self._saving - self._callable

    def calls_function(self, node: Any) -> bool:
        """Whether a node's operation is a function of the SavedModel."""
        return node.op in self._functions

    def nodes(self) -> Iterator[tuple[str, Any]]:
        """Yields all nodes, with the name of the function that contains each."""
        for node in self._main.values():
            yield _MAIN, node
        for name, function in self._functions.items():
            for node in function.node_def:
                yield name, node

    def reads_asset(self, where: str, node: Any) -> bool:
        """Whether the file that a table is read from can only be one of the assets."""
        if where not in self._functions:
            return True  # TensorFlow 2 runs nothing of the main graph.
        return self._is_asset(where, node.input[1])

    def _is_asset(self, function: str, value: str, seen: frozenset[Any] = frozenset()) -> bool:
        """Whether a value in a function is one of its arguments, and always an asset."""
        arguments = [each.name for each in self._functions[function].signature.input_arg]
        if value not in arguments or (function, value) in seen:
            return False
        index = arguments.index(value)
        seen = seen | {(function, value)}
        sources = [self._bound_to_asset(function, index, len(arguments))]
        for caller, node in self._callers.get(function, []):
            # In other operations, such as loops, inputs and arguments do not correspond one to
            # one.
            direct = node.op in _CALLS and index < len(node.input)
            sources.append(direct and self._is_asset(caller, node.input[index], seen))
        known = [source for source in sources if source is not None]
        return bool(known) and all(known)

    def _bound_to_asset(self, function: str, index: int, number: int) -> bool | None:
        """Whether the object graph passes an asset to an argument; `None` if it passes nothing."""
        concrete = self._objects.concrete_functions.get(function)
        if concrete is None:
            return None
        bound = list(concrete.bound_inputs)
        # Bound inputs are the last arguments of a function.
        place = index - (number - len(bound))
        return place >= 0 and self._objects.nodes[bound[place]].WhichOneof("kind") == "asset"

    @functools.cached_property
    def _callers(self) -> dict[str, list[tuple[str, Any]]]:
        """The calls of each function that a loaded model can reach."""
        callers: dict[str, list[tuple[str, Any]]] = {}
        for name in self._callable:
            for node in self._functions[name].node_def:
                for callee in _called(node):
                    callers.setdefault(callee, []).append((name, node))
        return callers


def operation_of(name: str) -> str:
    """Returns the operation's name of an input: `^a` and `a:1` -> `a`."""
    return name.lstrip("^").partition(":")[0]


def _called(node: Any) -> list[str]:
    """Returns names of the functions in a node's attributes, and its operation, which may be one too."""
    names = [node.op]
    for value in node.attr.values():
        if value.HasField("func"):
            names.append(value.func.name)
        names += [each.name for each in value.list.func]
    return names
