"""The inputs that a symbolic tensor is computed from."""

from __future__ import annotations

from tfkit.src.symbolic.tensors import KerasTensor


def get_source_inputs(tensor: KerasTensor) -> list[KerasTensor]:
    """Returns the symbolic inputs that a symbolic tensor is computed from.

    Args:
        tensor: a symbolic tensor: an `Input`, or the result of calls on some.

    Returns:
        A list of symbolic tensors, each once, in the order in which they are used.

    Example:
        >>> x = tfkit.Input((3,), name="x")
        >>> [it is x for it in get_source_inputs(tfkit.layers.Dense(3)(x) + x)]
        [True]
    """
    found: dict[int, KerasTensor] = {}
    seen: set[int] = set()
    waiting = [tensor]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        inputs = each.node.input_tensors if each.node is not None else []
        if inputs:
            waiting.extend(reversed(inputs))
        else:
            found[id(each)] = each
    return list(found.values())
