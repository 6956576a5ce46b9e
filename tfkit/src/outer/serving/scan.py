"""Checks what a SavedModel would do when TensorFlow's C library loads and runs it.

`tfkit.src.export.scan` refuses operations on files, and lets two kinds through where TensorFlow's Python
never runs them with other files than the model's own: those that save and restore variables, and tables
that read a vocabulary. The C library runs the main graph, which may use them otherwise; so it is followed
here from all nodes where it starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfkit.src.borrowed.private import parse_saved_model
from tfkit.src.export.scan import check_saved_model, operation_of
from tfkit.src.files.saving.errors import LoadError

_TABLES = {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}
_SAVERS = {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename"}
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_READS = {"ReadVariableOp", "VarIsInitializedOp"}
# in addition to the signature of that name
_INITIALIZERS = ("saved_model_main_op", "legacy_init_op")

# The possible origins of a string's value.
_ASSET, _CHECKPOINT, _ELSEWHERE = "an asset", "the checkpoint's name", "elsewhere"


def meta_graph_of(folder: str, trusted: bool = False) -> Any:
    """Returns the `MetaGraphDef` that TF Serving would serve.

    Args:
        folder: the SavedModel.
        trusted: whether it may access other files than its own when it is loaded or run.

    Raises:
        LoadError: for a SavedModel that is refused, which names the reason, and if there is none.
    """
    try:
        graphs = parse_saved_model(folder).meta_graphs
    except OSError as error:
        raise LoadError(f"{folder!r} is not a SavedModel, or is damaged: {error}") from None
    for meta_graph in graphs:
        # A SavedModel may have several graphs; TF Serving loads the one with this tag alone.
        if set(meta_graph.meta_info_def.tags) == {"serve"}:
            _check_complete(folder, meta_graph)
            if not trusted:
                check_saved_model(folder)
                _check_starts(folder, meta_graph)
            return meta_graph
    raise LoadError(f"SavedModel {folder!r} has no graph with the tag 'serve'.")


def _check_complete(folder: str, meta_graph: Any) -> None:
    """Raises an error for an incomplete folder: TensorFlow would load variables without values."""
    has_variables = any(node.op == "VarHandleOp" for node in meta_graph.graph_def.node)
    if has_variables and meta_graph.saver_def.restore_op_name:
        index = Path(folder, "variables", "variables.index")
        if not index.exists():
            raise LoadError(
                f"SavedModel {folder!r} is not complete: {index.name!r} is missing in its folder 'variables'."
            )


def _check_starts(folder: str, meta_graph: Any) -> None:
    """Checks what the library runs: signatures, the initializer, and the restoring of variables."""
    signatures = meta_graph.signature_def.values()
    fed = {_tensor(info.name) for each in signatures for info in each.inputs.values()}
    starts = [info.name for each in signatures for info in each.outputs.values()]
    for key in _INITIALIZERS:
        starts += meta_graph.collection_def[key].node_list.value
    # A request could feed any path to a tensor that is also an input.
    assets = {_tensor(each.tensor_info.name) for each in meta_graph.asset_file_def} - fed
    assets |= _assets_in_variables(meta_graph, assets) - fed
    saver = meta_graph.saver_def
    _Walk(folder, meta_graph, dict.fromkeys(assets, _ASSET)).follow(starts)
    restoring = {saver.filename_tensor_name: _CHECKPOINT}
    _Walk(folder, meta_graph, restoring).follow([saver.restore_op_name])


def _assets_in_variables(meta_graph: Any, assets: set[str]) -> set[str]:
    """Returns reads of main-graph variables that only ever hold the path of an asset.

    TensorFlow keeps the path so: the initializer assigns it, and tables are made from the value that is read.
    """
    main = meta_graph.graph_def.node
    inner = [node for each in meta_graph.graph_def.library.function for node in each.node_def]
    handles = [node for node in (*main, *inner) if "VarHandle" in node.op]
    names = Counter(node.attr["shared_name"].s or node.name.encode() for node in handles)
    found: set[str] = set()
    for handle in main:
        if handle.op != "VarHandleOp":
            continue
        if names[handle.attr["shared_name"].s or handle.name.encode()] > 1:
            continue  # Another handle may write to the same variable.
        users = [node for node in main if handle.name in map(operation_of, node.input)]
        writes = [node for node in users if node.op not in _READS]
        if writes and all(_assigns(node, assets) for node in writes):
            found |= {f"{node.name}:0" for node in users if node.op == "ReadVariableOp"}
    return found


def _assigns(node: Any, assets: set[str]) -> bool:
    return node.op == "AssignVariableOp" and _tensor(node.input[1]) in assets


class _Walk:
    """Follows the main graph backwards from its outputs, and into the functions that it calls.

    Args:
        folder: the SavedModel, for messages.
        meta_graph: its graph.
        known: the origins of known values of tensors in the main graph, by name; all others are `_ELSEWHERE`.
    """

    def __init__(self, folder: str, meta_graph: Any, known: dict[str, str]) -> None:
        self._folder = folder
        self._known = {_tensor(name): origin for name, origin in known.items() if name}
        self._nodes = {node.name: node for node in meta_graph.graph_def.node}
        self._functions = {
            each.signature.name: each for each in meta_graph.graph_def.library.function
        }
        self._seen: set[tuple[str, tuple[str, ...]]] = set()

    def follow(self, starts: Iterable[str]) -> None:
        """Checks all nodes that the tensors and operations in `starts` need."""
        pending = [operation_of(name) for name in starts if name]
        reached: set[str] = set()
        while pending:
            name = pending.pop()
            node = self._nodes.get(name)
            if node is not None and name not in reached:
                reached.add(name)
                pending += [operation_of(each) for each in node.input]
                self._check(
                    node, [self._known.get(_tensor(each), _ELSEWHERE) for each in node.input]
                )

    def _check(self, node: Any, origins: list[str]) -> None:
        """Checks a node whose inputs come from `origins`, and the functions that it calls."""
        if node.op in _TABLES and origins[1:2] != [_ASSET]:
            self._refuse("a table reads a file that is not an asset")
        if node.op in _SAVERS and (node.op != "RestoreV2" or origins[:1] != [_CHECKPOINT]):
            self._refuse(f"the operation {node.op}")
        names = {node.op}
        for value in node.attr.values():
            names |= {value.func.name, *(each.name for each in value.list.func)}
        for name in names & self._functions.keys():
            self._enter(name, origins if node.op in _CALLS else [])

    def _enter(self, name: str, origins: list[str]) -> None:
        function = self._functions[name]
        arguments = [each.name for each in function.signature.input_arg]
        # Calls may have control inputs after their arguments.
        origins = (origins + [_ELSEWHERE] * len(arguments))[: len(arguments)]
        # A function is checked once for each combination of origins, or recursion would not end.
        key = name, tuple(origins)
        if key not in self._seen:
            self._seen.add(key)
            known = dict(zip(arguments, origins, strict=True))
            for node in function.node_def:
                self._check(node, [known.get(each, _ELSEWHERE) for each in node.input])

    def _refuse(self, what: str) -> None:
        raise LoadError(
            f"SavedModel {self._folder!r} is refused because of {what}, in code that runs when it is loaded "
            "or used. A SavedModel is a program: if you trust whoever made it, pass `--trusted`."
        )


def _tensor(name: str) -> str:
    """Returns the name of a tensor: `a` -> `a:0`, as both mean the first output."""
    return name if ":" in name else f"{name}:0"
