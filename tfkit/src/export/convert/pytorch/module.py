"""A layer or model as a `torch.nn.Module`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf
import torch

from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.export.convert.graph import Graph
from tfkit.src.export.convert.interpreter import Interpreter
from tfkit.src.export.convert.pytorch.dtypes import array_of, dtype_of, tensor_of
from tfkit.src.export.convert.pytorch.framework import Pytorch
from tfkit.src.export.convert.pytorch.programs import made
from tfkit.src.export.convert.tracing import Calls, trace

_MOST_PROGRAMS = 32
_MADE_AGAIN = ("_programs", "_interpreters", "_opaque", "losses")


class Spec(NamedTuple):
    """Shape and dtype of an input."""

    shape: tuple[int | None, ...]
    dtype: torch.dtype


def convert(layer: Layer, examples: tuple[Any, ...], keywords: Mapping[str, Any]) -> TorchModule:
    """Returns a layer or model as a module; see `interop.to_torch`."""
    return TorchModule(trace(layer, tuple(map(_without_torch, examples)), keywords))


def _without_torch(example: Any) -> Any:
    return tf.nest.map_structure(
        lambda leaf: (
            array_of(leaf, str(leaf.dtype).removeprefix("torch."))
            if isinstance(leaf, torch.Tensor)
            else leaf
        ),
        example,
    )


class TorchModule(torch.nn.Module):
    """A layer or model of tfkit as a module of PyTorch, in which TensorFlow does not run.

    Weights are parameters and buffers by their attribute paths, `"dense.kernel"`; they are copies, which
    `copy_back` returns. `train()` and `eval()` choose the mode of `Dropout` and the like, whose seeds are
    buffers; a new module is in training mode, like any module of PyTorch.

    A call runs a graph of PyTorch's own operations that is made for the shapes of its inputs the first time.
    `torch.export` reads the operations themselves, so that sizes can be free there.

    Attributes:
        losses: the scalars of `add_loss` and of regularizers, of the last call.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._layer = [calls.layer]  # In a list, since it is not part of the module.
        self._specs = tf.nest.map_structure(
            lambda spec: Spec(tuple(spec.shape), dtype_of(spec.dtype.name)), calls.inputs
        )
        self._graphs: dict[bool, Graph] = {
            mode: call.graph for mode, call in calls.by_training.items()
        }
        self._nests = {
            mode: (call.outputs, call.num_outputs) for mode, call in calls.by_training.items()
        }
        self._places: dict[str, tuple[torch.nn.Module, str]] = {}
        self._dtypes: dict[str, str] = {}
        self._interpreters: dict[Any, Interpreter] = {}
        self._programs: dict[Any, Callable[..., Any]] = {}
        self.losses: list[torch.Tensor] = []
        for path, variable in calls.variables.items():
            self._add(path, variable, path in calls.trained)
        self._changed = {
            mode: [path for path in self._places if path in call.graph.written()]
            for mode, call in calls.by_training.items()
        }
        for mode in self._graphs:  # An operation without a formula is an error now.
            self._interpreter(mode, torch.device("cpu"))
        # What `torch.compile` does not look into, since it is Python code that makes a graph.
        self._opaque = {mode: _opaque(self._closure(mode)) for mode in self._graphs}

    def _add(self, path: str, variable: Any, trained: bool) -> None:
        """Adds a variable as a parameter, or as a buffer if no gradient changes it."""
        *steps, name = [step.replace(".", "_") for step in path.split("/")]
        owner: torch.nn.Module = self
        for step in steps:  # Written into the dicts, since a layer may be called "float" or "type".
            modules: dict[str, Any] = owner._modules
            owner = modules.setdefault(step, torch.nn.Module())
        # "a_b/kernel" and "a.b/kernel" would have one name.
        while name in owner._parameters or name in owner._buffers:
            name += "_"
        value = tensor_of(variable.numpy())
        is_parameter = trained and value.is_floating_point()
        store: dict[str, Any] = owner._parameters if is_parameter else owner._buffers
        store[name] = torch.nn.Parameter(value) if is_parameter else value
        self._dtypes[path] = tf.as_dtype(variable.dtype).name
        self._places[path] = owner, name

    def __getstate__(self) -> dict[str, Any]:
        """Returns what a copy has of this module: everything except what it can make again."""
        return {name: it for name, it in self.__dict__.items() if name not in _MADE_AGAIN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._programs, self._interpreters, self.losses = {}, {}, []
        self._opaque = {mode: _opaque(self._closure(mode)) for mode in self._graphs}

    # --- Calls ----------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Returns the outputs, as a nest in the form of the layer's outputs."""
        flat = self._flat((inputs, keywords))
        mode = self.training
        state = [_value(*place) for place in self._places.values()]
        if self._changed[mode] and torch.is_grad_enabled():
            # They are changed in place below, and a gradient may need their old values.
            assigned = set(self._changed[mode])
            pairs = zip(self._places, state, strict=True)
            state = [it.clone() if path in assigned else it for path, it in pairs]
        if torch.compiler.is_exporting():
            found = self._interpreted(mode, state, flat)
        elif torch.compiler.is_compiling():
            found = self._opaque[mode](state, flat)
        else:
            found = self._program(mode, state, flat)(state, flat)
        outputs, changed = found
        if changed:
            with torch.no_grad():
                for path, value in zip(self._changed[mode], changed, strict=True):
                    _value(*self._places[path]).copy_(value)
        nest, count = self._nests[mode]
        if not torch.compiler.is_exporting():  # A program has no place for them.
            self.losses = outputs[count:]
        return _nested(nest, outputs)

    def _closure(self, mode: bool) -> Callable[..., Any]:
        return lambda state, inputs: self._interpreted(mode, state, inputs)

    def _interpreted(
        self, mode: bool, state: list[torch.Tensor], inputs: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Returns the results, and the new values of the variables that the call changes."""
        variables = dict(zip(self._places, state, strict=True))
        device = next(iter([*state, *inputs]), torch.empty(0)).device
        results = self._interpreter(mode, device)(inputs, variables)
        return results, [variables[path] for path in self._changed[mode]]

    def _interpreter(self, mode: bool, device: torch.device) -> Interpreter:
        if (mode, device) not in self._interpreters:
            (layer,) = self._layer
            self._interpreters[mode, device] = Interpreter(
                self._graphs[mode], Pytorch(device), layer.name
            )
        return self._interpreters[mode, device]

    def _program(
        self, mode: bool, state: list[torch.Tensor], inputs: list[torch.Tensor]
    ) -> Callable[..., Any]:
        """Returns a graph of PyTorch's operations for the shapes of the inputs; made the first time."""
        key = (
            mode,
            torch.is_grad_enabled(),
            state[0].device if state else None,
            tuple((tuple(x.shape), x.dtype, x.device) for x in inputs),
            tuple(x.dtype for x in state),
        )
        if key not in self._programs:
            if len(self._programs) >= _MOST_PROGRAMS:
                # The oldest program is forgotten.
                self._programs.pop(next(iter(self._programs)))
            self._programs[key] = made(self._closure(mode), state, inputs)
        return self._programs[key]

    def _flat(self, inputs: Any) -> list[torch.Tensor]:
        """Returns the tensors of a nest of inputs."""
        tensors, expected = _flattened(inputs), _flattened(self._specs)
        if len(tensors) != len(expected):
            raise ValueError(
                f"Expected {len(expected)} tensors, as in the examples of `to_torch`. Received: "
                f"{len(tensors)}."
            )
        for tensor, (shape, dtype) in zip(tensors, expected, strict=True):
            _check(tensor, shape, dtype)
        return tensors

    # --- Values ---------------------------------------------------------------------------------------

    def copy_back(self) -> None:
        """Assigns the values of parameters and buffers to the layer that this module was made of.

        Raises:
            ValueError: if the layer has other weights now, or a value a different shape. No weight changes
                then.
        """
        (layer,) = self._layer
        variables = tracking.named_state(layer)
        values = {path: _value(*place) for path, place in self._places.items()}
        values = {path: it for path, it in values.items() if not path.startswith("other/")}
        wrong = sorted(variables.keys() ^ values.keys())
        wrong += [
            path
            for path in variables.keys() & values.keys()
            if tuple(variables[path].shape) != tuple(values[path].shape)
        ]
        if wrong:
            raise ValueError(
                f"Layer '{layer.name}' has other weights than when `to_torch` converted it: {wrong[:10]}. "
                "Convert it again. No weight was changed."
            )
        arrays = {path: array_of(value, self._dtypes[path]) for path, value in values.items()}
        for path, array in arrays.items():
            variables[path].assign(array)


def _value(owner: torch.nn.Module, name: str) -> torch.Tensor:
    """Returns a parameter or buffer; `torch.export` replaces the dicts that hold them for a time."""
    parameters: dict[str, Any] = owner._parameters
    return parameters[name] if name in parameters else owner._buffers[name]


def _opaque(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch._dynamo.nonstrict_trace(function)


def _flattened(nest: Any) -> list[Any]:
    """Returns the leaves of a nest, in the order of `tf.nest`, without TensorFlow."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in _flattened(nest[key])]
    if isinstance(nest, list) or (isinstance(nest, tuple) and not isinstance(nest, Spec)):
        return [leaf for item in nest for leaf in _flattened(item)]
    return [nest]


def _nested(nest: Any, leaves: list[torch.Tensor]) -> Any:
    """Returns a nest with tensors instead of their numbers."""
    if isinstance(nest, dict):
        return {key: _nested(item, leaves) for key, item in nest.items()}
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_nested(item, leaves) for item in nest))
    if isinstance(nest, (list, tuple)):
        return type(nest)(_nested(item, leaves) for item in nest)
    return None if nest is None else leaves[nest]


def _check(tensor: Any, shape: tuple[int | None, ...], dtype: torch.dtype) -> None:
    """Raises an error for an input that is not like its example."""
    fits = (
        isinstance(tensor, torch.Tensor)
        and tensor.dtype == dtype
        and tensor.ndim == len(shape)
        and all(size is None or size == got for size, got in zip(shape, tensor.shape, strict=True))
    )
    if not fits:
        received = (
            f"{tuple(tensor.shape)} {tensor.dtype}"
            if isinstance(tensor, torch.Tensor)
            else f"{type(tensor).__name__}"
        )
        raise ValueError(
            f"Expected a tensor of shape {shape} and dtype {dtype}, as in the examples of `to_torch`. "
            f"Received: {received}"
        )
