"""Orders functions so that updates wait for all kernels that can refuse values.

TensorFlow runs operations that do not depend on each other in any order, so a step that is refused may have
updated some of its variables and not others. Here every update waits for every kernel that can refuse: a
refused step has changed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfkit.src.engine.guards.survey import CALLS

_ALL_ACCEPTED = "tfkit_all_accepted"


def hold_back(definition: Any, refusing: Iterable[str], updating: Iterable[str]) -> bool:
    """Makes updates wait for operations that can refuse values, unless these depend on the update.

    An update that a refusal depends on is not moved, such as the update of a seed that is drawn from twice.

    Args:
        definition: a `FunctionDef`, which is changed.
        refusing: names of nodes that can refuse values.
        updating: names of nodes that change variables.

    Returns:
        Whether there was something to change.
    """
    refusals, updates = set(refusing), list(updating)
    # A call that both updates and refuses cannot wait for itself: it waits for the others.
    mixed = refusals & set(updates)
    changed = _wait(definition, refusals - mixed, updates, _ALL_ACCEPTED)
    # Updates outside of such calls wait for them as well, after the waits above are in place: what they
    # depend on includes these.
    others = [name for name in updates if name not in mixed]
    return _wait(definition, mixed, others, f"{_ALL_ACCEPTED}_in_calls") or changed


def _wait(definition: Any, refusals: set[str], updates: list[str], name_of_wait: str) -> bool:
    nodes = {node.name: node for node in definition.node_def}
    before_refusals: set[str] = set()
    left = list(refusals)
    while left:
        for reference in nodes[left.pop()].input:
            name = reference.lstrip("^").split(":")[0]
            if name in nodes and name not in before_refusals:
                before_refusals.add(name)
                left.append(name)
    # An update that waits for something that depends on it would be a cycle.
    held = [name for name in updates if name not in before_refusals]
    if not refusals or not held:
        return False
    waited_for = []
    # Sorted, so that equal steps become equal functions, which share their programs.
    for name in sorted(refusals):
        waited_for += [f"^{name}", *_results_of_call(definition, nodes[name])]
    # One node between, or there would be an edge from each refusal to each update.
    definition.node_def.add(name=name_of_wait, op="NoOp", input=waited_for)
    for name in held:
        nodes[name].input.append(f"^{name_of_wait}")
    return True


def _results_of_call(definition: Any, node: Any) -> list[str]:
    """Returns control inputs that wait for the results of a call of a function.

    TensorFlow replaces the call by the function's body. What waited for the call then waits only for the
    updates in it, and not for its other operations.
    """
    if node.op not in CALLS:
        return []
    waiting = []
    for index, dtype in enumerate(node.attr["Tout" if "Tout" in node.attr else "T"].list.type):
        copy = definition.node_def.add(name=f"{node.name}/result_{index}", op="Identity")
        copy.attr["T"].type = dtype
        copy.input.append(f"{node.name}:output:{index}")
        waiting.append(f"^{copy.name}")
    return waiting
