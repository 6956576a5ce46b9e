"""The rules for products of matrices, among the rules of `row_rules.py`."""

from __future__ import annotations

from typing import Any

from tfkit.src.engine.row_kinds import Kind, joint_copies, mixed

CONTRACTING = frozenset(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "MatMul"))


def contracted(op: Any, kinds: list[Kind]) -> Kind | None:
    """Returns the kind of a product of matrices, by labels of axes as in `einsum`; `None` if not known."""
    # A label that the rows have is kept (each row has its own product) or summed over (a sum over rows).
    aggregated = [it for it in kinds if it.form in ("sum", "max", "min")]
    rows = [it for it in kinds if it.form == "rows"]
    if aggregated:
        one = len(aggregated) == 1 and not rows and aggregated[0].form == "sum"
        is_pure = one and aggregated[0].plus is None
        return aggregated[0] if is_pure else mixed(aggregated[0].op)
    labels = _labels(op)
    if labels is None or any(it.axis is None for it in rows):
        return None
    *operands, result = labels
    own = {
        labels[it.axis or 0]
        for it, labels in zip(kinds, operands, strict=True)
        if it.form == "rows"
    }
    if len(own) > 1:
        return mixed(op)
    label, degree = own.pop(), sum(it.degree for it in kinds)
    if label in result:
        found = Kind("rows", degree, result.index(label), joint_copies(rows))
        return _sized(op, rows[0], found) if found.copies == -1 else found
    if any(
        it.form != "rows" and label in labels for it, labels in zip(kinds, operands, strict=True)
    ):
        # A factor for each row by its index, which differs between replica and device.
        return mixed(op)
    return Kind("sum", degree, op=op)


def contracts_rows(op: Any, kinds: list[Kind]) -> bool:
    """Whether a product of matrices is known to be a sum over rows, even if its shape is not known."""
    labels = _labels(op) if op.type in CONTRACTING else None
    return labels is not None and any(
        kind.form == "rows" and kind.axis is not None and own[kind.axis] not in labels[-1]
        for kind, own in zip(kinds, labels[:-1], strict=True)
    )


def _sized(op: Any, rows: Kind, found: Kind) -> Kind:
    """Returns the kind of a product by a matrix, where it is known how many values a row of the batch has."""
    if op.type != "MatMul" or rows.size is None or op.inputs[1].shape.num_elements() is None:
        return found
    sizes = op.inputs[1].shape.as_list()
    before, after = sizes[::-1] if op.get_attr("transpose_b") else sizes
    copies = rows.size / before
    return found._replace(copies=int(copies), size=copies * after)


def _labels(op: Any) -> list[str] | None:
    """Returns the labels of the axes of each operand and of the result."""
    ranks = [it.shape.rank for it in op.inputs]
    if None in ranks:
        return None
    if op.type == "Einsum":
        equation = op.get_attr("equation").decode().replace(" ", "")
        left, _, right = equation.partition("->")
        operands = left.split(",")
        # The axes of an ellipsis get labels that no equation has, and are lined up from the last one, as in
        # broadcasting.
        longest = max(
            (rank - len(it) + 3 for it, rank in zip(operands, ranks, strict=True) if "..." in it),
            default=0,
        )
        batch = [chr(0x100 + it) for it in range(longest)]
        found = []
        for term, rank in zip(operands, ranks, strict=True):
            inner = rank - len(term) + 3
            found.append(term.replace("...", "".join(batch[longest - inner :] if inner else "")))
        return [*found, right.replace("...", "".join(batch))]
    name = "adj_{}" if op.type.startswith("Batch") else "transpose_{}"
    keys = ("x", "y") if op.type.startswith("Batch") else ("a", "b")
    longest = max(ranks) - 2
    batch = [chr(0x100 + it) for it in range(longest)]
    matrices = ["ij", "jk"]
    for index, key in enumerate(keys):
        if op.get_attr(name.format(key)):
            matrices[index] = matrices[index][::-1]
    found = [
        "".join(batch[longest - rank + 2 :]) + matrix
        for rank, matrix in zip(ranks, matrices, strict=True)
    ]
    return [*found, "".join(batch) + "ik"]
