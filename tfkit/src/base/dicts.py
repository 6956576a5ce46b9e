"""Nested dicts and their leaves by path, without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def by_path(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested dicts, given their leaves by path: the inverse of `leaves_by_path`."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *above, last = path.split("/")
        branch = tree
        for step in above:
            branch = branch.setdefault(step, {})
        branch[last] = leaf
    return tree


def leaves_by_path(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the leaves of nested dicts by path: the keys above them, with slashes in between."""
    return {
        f"{key}/{path}" if path else key: leaf
        for key, item in tree.items()
        for path, leaf in (leaves_by_path(item) if isinstance(item, dict) else {"": item}).items()
    }
