"""Chooses the kind of program that suits a step.

No kind is the best everywhere, and the wrong one can be 30 times slower. Microseconds a step on two cores:

| work                     | graph loop | XLA step in a graph loop | XLA loop |
|--------------------------|-----------:|-------------------------:|---------:|
| MLP 16-32-32-10          |         83 |                      133 |       16 |
| CNN, two convolutions    |     15,300 |                   42,000 |  407,000 |
| a cell in a `tf.while_loop`: LSTM, 64 units, 50 steps | 24,300 |   11,900 |   14,500 |
| `tfkit.layers.LSTM`, 64 units, 50 steps               | 16,500 |   11,600 |  10,500 |

XLA compiles convolutions for CPUs to slow code, and to even slower code inside a loop. A loop inside an XLA
loop does not use XLA's threads, which the small operations of tfkit's own recurrent loops do not need.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.engine import xla
from tfkit.src.engine.guards.table import is_listed
from tfkit.src.engine.machine import device
from tfkit.src.training.step import StepTrace

EAGER = "eager"
GRAPH_LOOP = "graph loop"
XLA_STEP = "XLA step in a graph loop"
XLA_LOOP = "XLA loop"

_CONVOLUTIONS = ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "AvgPool")


@dataclasses.dataclass(frozen=True)
class Plan:
    """A kind of program, and why it was chosen.

    Attributes:
        compiles_updates: whether XLA compiles the updates of variables within a graph loop.
    """

    kind: str
    reason: str
    compiles_updates: bool = False

    def __str__(self) -> str:
        parts = [f"{self.kind}: {self.reason}"]
        if self.compiles_updates:
            parts.append("XLA compiles the updates of the variables")
        return "; ".join(parts)


def without_program(function: str | None) -> Plan:
    """Returns the plan of a step that no program runs.

    Args:
        function: name of the user's function that is the step; `None` if the step runs eagerly.
    """
    reason = "`run_eagerly=True`" if function is None else f"`{function}` is not the default"
    return Plan(EAGER, reason)


class Plans(dict[str, Plan]):
    """The plan of each mode: `"train"`, `"test"`, `"predict"`."""

    def __repr__(self) -> str:
        if not self:
            return "No program has run yet: call `fit()`, `evaluate()` or `predict()` first."
        return "\n".join(f"{mode}: {plan}" for mode, plan in self.items())


def choose(trace: StepTrace, jit_compile: bool | str) -> Plan:
    """Returns the plan for a step.

    Args:
        trace: the step.
        jit_compile: the argument of `compile`.

    Raises:
        ValueError: under `jit_compile=True`, with the part that XLA cannot compile.
    """
    if trace.is_distributed:
        return Plan(GRAPH_LOOP, "XLA does not compile what replicas exchange")
    if jit_compile is False:
        return Plan(GRAPH_LOOP, "`jit_compile=False`")
    operations = trace.operations
    convolution = _first(operations, _CONVOLUTIONS) if device() == "CPU" else None
    # Asked before XLA is loaded, which takes 30 MB.
    if jit_compile == "auto" and convolution is not None:
        return Plan(GRAPH_LOOP, f"XLA is slow with {convolution} on CPUs")
    # XLA's replacement for a kernel that it lacks is slower, so it is used only on explicit request.
    in_xla = operations if jit_compile == "auto" else trace.operations_in_xla
    obstacle = _obstacle(trace.specs, in_xla)
    if obstacle is not None:
        if jit_compile is True:
            raise ValueError(
                f"`jit_compile=True`, but XLA cannot compile {obstacle}. "
                "Pass `jit_compile='auto'` to `compile()`, or change that part of the model."
            )
        return Plan(GRAPH_LOOP, f"XLA cannot compile {obstacle}")
    for difference in trace.guarded.differences[:1]:
        if jit_compile == "auto":
            return Plan(GRAPH_LOOP, f"XLA {difference.described(trace.watch.path_of)}")
        difference.warn(trace.watch.path_of)
    if jit_compile == "auto" and any(None in spec.shape[1:] for spec in trace.specs):
        return Plan(GRAPH_LOOP, "XLA would compile again for each size that the batches have")
    if jit_compile == "auto" and not trace.has_one_size:
        return Plan(GRAPH_LOOP, "XLA would compile again for each size that the results have")
    if jit_compile == "auto" and trace.loop_gradient is not None:
        loop = _describe(*trace.loop_gradient)
        return Plan(GRAPH_LOOP, f"XLA compiles the gradient of {loop} for one number of rows only")
    slow = convolution or _first(operations, xla.LOOPS)
    if slow is not None:
        return Plan(XLA_STEP, f"XLA loops are slow around {slow}")
    if not trace.has_one_size:
        return Plan(XLA_STEP, "the size of the results depends on the batch")
    return Plan(XLA_LOOP, "XLA compiles all of the step")


def _obstacle(specs: Sequence[Any], operations: Sequence[tuple[str, str]]) -> str | None:
    """Returns a description of the first thing that XLA cannot compile, or `None`."""
    for spec in specs:
        if not isinstance(spec, tf.TensorSpec):
            return f"batches with a {spec.value_type.__name__}"
        if spec.dtype in (tf.string, tf.variant, tf.resource):
            return f"batches with a tensor of dtype {spec.dtype.name}"
    for kind, name in operations:
        # The guards' table lists what XLA compiles for a CPU: asking TensorFlow takes 2 ms for each type.
        if not (device() == "CPU" and is_listed(kind)) and xla.not_compilable(kind):
            return _describe(kind, name)
    return None


def _first(operations: Sequence[tuple[str, str]], kinds: tuple[str, ...]) -> str | None:
    """Returns a description of the first operation of one of the kinds."""
    for kind, name in operations:
        if kind.startswith(kinds):
            return _describe(kind, name)
    return None


def _describe(kind: str, name: str) -> str:
    """Returns a description of an operation and its layer, from the scopes in its name."""
    scopes = name.removeprefix("gradient_tape/").split("/")
    layer = "/".join(itertools.takewhile(lambda scope: scope != "while", scopes[:-1]))
    return f"the operation {kind}" + (f" of '{layer}'" if layer else "")
