"""Puts the last products of kernels before their updates, so that XLA need not copy the kernels.

The backward pass multiplies by the old value of a kernel, and the update overwrites it in place. Where
neither depends on the other, XLA may run them in any order, and copies the kernel in each step to be safe. To
XLA, control dependencies inside a program mean nothing, and its barriers are gone before it inserts copies.
Here the gradient of a kernel, itself a product, gets a zero subtracted that is computed from the other
products. This changes no bit of it, though XLA may then join, and so round, other sums in another way. A
step of a variational autoencoder takes 5 % less time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow as tf

_PRODUCTS = frozenset(("MatMul", "BatchMatMulV2", "Einsum", "XlaEinsum"))
_UPDATES = frozenset(("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"))
# Operations whose result is their first input, in another form.
_FORMS = frozenset(("Identity", "Reshape", "Transpose"))


class EarlyGradient(NamedTuple):
    """A product from which variables are updated while others may still have to read the variables.

    Attributes:
        result: the reference to the product's result.
        dtype: of the result.
        waited: references to the results of the products that it should wait for.
        zero: a `ConcreteFunction` of these, which returns the zero to subtract.
    """

    result: str
    dtype: tf.DType
    waited: tuple[str, ...]
    zero: Any


def early_gradients(definition: Any) -> Iterator[EarlyGradient]:
    """Yields the early gradients in a `FunctionDef`, whose nodes are in the order of the trace."""
    updates = [node for node in definition.node_def if node.op in _UPDATES]
    if not updates:
        return
    graph = _Graph(definition)
    late: set[str] = set()
    gradients: set[str] = set()
    for update in updates:
        before = graph.products_before(update.input[1])
        for product in graph.reading.get(update.input[0], ()):
            # What is traced after the update may read the new value.
            is_traced_before = graph.places[product] < graph.places[update.name]
            if is_traced_before and not before & graph.bits[product]:
                late.add(product)
                gradients.update(graph.first_of(before & ~graph.products_before(product)))
    for gradient in sorted(gradients, key=graph.places.__getitem__):
        # Each waits for what was traced before its first use: so no two can wait for each other.
        first_use = graph.first_uses[gradient]
        last = graph.last_of([name for name in late if graph.places[name] < first_use])
        if last:
            dtype, *dtypes = [graph.dtypes[name] for name in (gradient, *last)]
            waited = tuple(map(graph.result, last))
            yield EarlyGradient(graph.result(gradient), dtype, waited, _zero(dtype, *dtypes))


def put_after(
    definition: Any, users: list[Any], early: EarlyGradient, zero: str, name: str
) -> None:
    """Subtracts a zero from an early gradient.

    Args:
        definition: the `FunctionDef`.
        users: the nodes for which it is subtracted: not those that the zero is computed by.
        early: the gradient.
        zero: the reference to the zero.
        name: for the new node.
    """
    for node in users:
        node.input[:] = [f"{name}:z:0" if it == early.result else it for it in node.input]
    # Minus zero minus zero is minus zero; the sum would be zero.
    node = definition.node_def.add(name=name, op="Sub", input=[early.result, zero])
    node.attr["T"].type = early.dtype.as_datatype_enum


class _Graph:
    """The products in a function, and what is computed from them.

    Sets of products are integers, with a bit for each product.

    Attributes:
        places: the number of each node in the order of the trace.
        first_uses: the place of the first node that uses a node.
        reading: by the reference to a variable, the names of the products that have it as a factor.
        bits: the set of each product alone.
        dtypes: the dtype of each product.
    """

    def __init__(self, definition: Any) -> None:
        self.places: dict[str, int] = {}
        self.first_uses: dict[str, int] = {}
        self.reading: dict[str, list[str]] = {}
        self.bits: dict[str, int] = {}
        self.dtypes: dict[str, tf.DType] = {}
        self._nodes = {node.name: node for node in definition.node_def}
        self._before: dict[str, int] = {}
        for place, node in enumerate(definition.node_def):
            self._add(place, node)

    def _add(self, place: int, node: Any) -> None:
        self.places[node.name] = place
        before = 0
        for source in map(_source, node.input):
            self.first_uses.setdefault(source, place)
            before |= self._before.get(source, 0)
        if node.op in _PRODUCTS and (dtype := tf.as_dtype(node.attr["T"].type)).is_floating:
            self.dtypes[node.name] = dtype
            self.bits[node.name] = 1 << len(self.bits)
            before |= self.bits[node.name]
            for variable in filter(None, map(self._variable, node.input)):
                self.reading.setdefault(variable, []).append(node.name)
        self._before[node.name] = before

    def products_before(self, reference: str) -> int:
        """Returns the products that a value is computed from; a product is one of its own."""
        return self._before.get(_source(reference), 0)

    def first_of(self, products: int) -> list[str]:
        """Returns the names of those in a set that are computed from no other in it."""
        names = [name for name, bit in self.bits.items() if products & bit]
        return [name for name in names if self._before[name] & products == self.bits[name]]

    def last_of(self, names: list[str]) -> list[str]:
        """Returns those of the named products from which no other of them is computed."""
        before = 0
        for name in names:
            before |= self._before[name] & ~self.bits[name]
        last = [name for name in names if not before & self.bits[name]]
        return sorted(last, key=self.places.__getitem__)

    def result(self, name: str) -> str:
        """Returns the reference to the result of a product."""
        is_named = self._nodes[name].op in ("MatMul", "XlaEinsum")
        return f"{name}:{'product' if is_named else 'output'}:0"

    def _variable(self, reference: str) -> str | None:
        """Returns the reference to the variable that a value is, in some form; `None` if it is computed."""
        while node := self._nodes.get(_source(reference)):
            if node.op == "ReadVariableOp":
                return str(node.input[0])
            if node.op not in _FORMS:
                return None
            reference = node.input[0]
        return None


def _source(reference: str) -> str:
    return reference.removeprefix("^").partition(":")[0]


@functools.cache
def _zero(dtype: tf.DType, *dtypes: tf.DType) -> Any:
    """Returns a `ConcreteFunction` of tensors to a scalar zero that a compiler cannot know without them."""

    def zero(*tensors: tf.Tensor) -> tf.Tensor:
        # Two numbers of each: XLA computes a sum once, and a lone number again in each of its uses.
        numbers = tf.concat([tf.cast(tf.reshape(it, [-1])[:2], dtype) for it in tensors], 0)
        return tf.reduce_sum(tf.cast(tf.math.is_nan(numbers) & tf.math.is_finite(numbers), dtype))

    with tf.init_scope():  # Separate from the trace that needs it first.
        specs = [tf.TensorSpec(None, each) for each in dtypes]
        return tf.function(zero, autograph=False).get_concrete_function(*specs)
