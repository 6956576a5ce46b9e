"""Modules of PyTorch in programs of TensorFlow: called on the host, with PyTorch's gradients."""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
import torch

# A call replaces a module's parameters for a moment, and draws from the generator of the process.
_LOCK = threading.RLock()
# Calls whose gradient may come. An earlier one is computed again, as in a long loop over time.
_NUM_KEPT = 16
_ALIGNMENT = 64  # Bytes. Kernels of TensorFlow read memory in steps of this size.
# In place of sizes that are not known: two for rows, two for others. A size that differs is not known.
_SIZES = ((2, 256), (3, 416))


def is_module(value: Any) -> bool:
    """Whether a value is a module of PyTorch."""
    return isinstance(value, torch.nn.Module)


def is_uninitialized(module: Any) -> bool:
    """Whether a module has parameters without shapes."""
    parameters = itertools.chain(module.parameters(), module.buffers())
    return any(torch.nn.parameter.is_lazy(it) for it in parameters)


def parameters(module: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yields name, value and whether it is trained, of each parameter; only one name, if it has two."""
    for name, value in module.named_parameters():
        yield name, _from_torch(value), value.requires_grad


def buffers(module: Any) -> Iterator[tuple[str, Any]]:
    """Yields name and value of each buffer that a `state_dict` has."""
    stored = module.state_dict().keys()
    for name, value in module.named_buffers():
        if name in stored:
            yield name, _from_torch(value)


def assign(module: Any, values: Mapping[str, Any]) -> None:
    """Assigns tensors to a module's parameters and buffers, by name."""
    targets = dict(itertools.chain(module.named_parameters(), module.named_buffers()))
    with _LOCK, torch.no_grad():
        for name, value in values.items():
            targets[name].copy_(_to_torch(tf.convert_to_tensor(value)))


class HostCall:
    """A call of a module, at one point of a program: its outputs, and their gradients.

    Args:
        module: the module.
        arguments: a nest of tensors and other values, `(args, kwargs)`.
        trained: the parameters, `(name, tensor, whether it is trained)` each.
        stored: the buffers, by name.
        seed: two words for random numbers while training; else `None`.
        training: whether the module trains.
        precision: the dtype for `torch.autocast`, by name; `None` for none.
        output: spec of the output, where the user has given its shape; `None` to find it out.
    """

    def __init__(
        self,
        module: Any,
        arguments: Any,
        trained: Sequence[tuple[str, tf.Tensor, bool]],
        stored: Mapping[str, tf.Tensor],
        seed: tf.Tensor | None,
        training: bool,
        precision: str | None,
        output: tf.TensorSpec | None,
    ) -> None:
        self._module, self._training, self._output = module, training, output
        self._arguments, self._leaves = arguments, tf.nest.flatten(arguments)
        self._places = [place for place, it in enumerate(self._leaves) if tf.is_tensor(it)]
        self._names = [name for name, _, _ in trained] + list(stored)
        inputs = [self._leaves[place] for place in self._places]
        self._tensors = inputs + [it for _, it, _ in trained] + list(stored.values())
        self._num_inputs, self._num_buffers = len(inputs), len(stored)
        self._wanted = [_is_float(it) for it in inputs] + [
            is_trained and _is_float(it) for _, it, is_trained in trained
        ]
        self._wanted += [False] * len(stored)
        self._seed = [] if seed is None else [seed]
        self._precision = precision
        self._structure: Any = None  # Of the outputs: whether each is a tensor.
        self._specs: list[tf.TensorSpec] = []
        self._numbers = itertools.count()
        self._kept: collections.OrderedDict[int, Any] = collections.OrderedDict()

    def run(self) -> tuple[Any, list[tf.Tensor]]:
        """Returns the outputs, and the values of the buffers after the call."""
        if not tf.executing_eagerly():
            self._find_specs()

        @tf.custom_gradient
        def called(*tensors: tf.Tensor) -> Any:
            number, *results = _on_host(self._forward, tensors, self._result_specs())

            def gradient(*upstream: Any) -> Any:
                return self._gradients(tensors, number, results, upstream)

            return results, gradient

        results = list(called(*self._tensors, *self._seed))
        num_outputs = len(results) - self._num_buffers
        outputs = iter(results[:num_outputs])
        structure = tf.nest.map_structure(
            lambda is_tensor: next(outputs) if is_tensor else None, self._structure
        )
        return structure, results[num_outputs:]

    def _result_specs(self) -> list[tf.TensorSpec]:
        stored = self._tensors[len(self._tensors) - self._num_buffers :]
        number = tf.TensorSpec((), tf.int64)
        return [number, *self._specs, *(tf.TensorSpec(it.shape, it.dtype) for it in stored)]

    # --- On the host: tensors are eager ------------------------------------------------------------------

    def _forward(self, *tensors: tf.Tensor) -> list[tf.Tensor]:
        leaves, outputs, state = self._computed(tensors, self._training)
        number = next(self._numbers)
        if self._training:
            # The graph of PyTorch's autograd is kept until the gradient requests it by this
            # number.
            self._kept[number] = leaves, outputs
            if len(self._kept) > _NUM_KEPT:
                self._kept.popitem(last=False)
        flat = [_from_torch(it) for it in outputs]
        if self._specs and len(flat) == len(self._specs):
            flat = [tf.cast(it, spec.dtype) for it, spec in zip(flat, self._specs, strict=True)]
        return [tf.constant(number, tf.int64), *flat, *map(_from_torch, state)]

    def _backward(self, number: tf.Tensor, *values: tf.Tensor) -> list[tf.Tensor]:
        num_tensors = len(self._tensors) + len(self._seed)
        tensors, upstream = values[:num_tensors], values[num_tensors:]
        leaves, outputs = self._kept.pop(int(number), None) or self._computed(tensors, True)[:2]
        pairs = [
            (output, _to_torch(it).to(output.dtype))
            for output, it in zip(filter(torch.is_floating_point, outputs), upstream, strict=True)
            if output.requires_grad
        ]
        wanted = [it for it, is_wanted in zip(leaves, self._wanted, strict=True) if is_wanted]
        found: Sequence[Any] = [None] * len(wanted)
        if pairs:
            with _LOCK:
                found = torch.autograd.grad(
                    [it for it, _ in pairs], wanted, [it for _, it in pairs], allow_unused=True
                )
        return [
            _from_torch(torch.zeros_like(leaf) if it is None else it)
            for leaf, it in zip(wanted, found, strict=True)
        ]

    def _computed(self, tensors: Sequence[tf.Tensor], differentiated: bool) -> tuple[Any, Any, Any]:
        """Returns the arguments, the outputs, and the buffers after the call, as tensors of PyTorch."""
        leaves = [_to_torch(it) for it in tensors[: len(self._tensors)]]
        for leaf, is_wanted in zip(leaves, self._wanted, strict=True):
            leaf.requires_grad_(is_wanted and differentiated)
        seed = None
        if self._seed:
            # PyTorch's seeds are signed integers of 64 bits: 31 bits of each word.
            high, low = (int(it) & 0x7FFFFFFF for it in tensors[-1])
            seed = high << 32 | low
        with torch.set_grad_enabled(differentiated):
            outputs, state = self._applied(leaves, seed)
        return leaves, outputs, state

    def _applied(self, leaves: list[Any], seed: int | None, more: Any = None) -> tuple[Any, Any]:
        # Copies, since memory of TensorFlow must not change: a module may do so with inputs and buffers.
        first_buffer = len(leaves) - self._num_buffers
        inputs = [it.clone() for it in leaves[: self._num_inputs]]
        values = leaves[self._num_inputs : first_buffer]
        values += [it.clone() for it in leaves[first_buffer:]]
        state = {**(more or {}), **dict(zip(self._names, values, strict=True))}
        given = list(self._leaves)
        for place, value in zip(self._places, inputs, strict=True):
            given[place] = value
        args, kwargs = tf.nest.pack_sequence_as(self._arguments, given)
        with _LOCK, contextlib.ExitStack() as settings:
            if self._training:
                # The user's own draws in PyTorch are not disturbed.
                settings.enter_context(torch.random.fork_rng(devices=[]))
            if seed is not None:
                torch.manual_seed(seed)
            if self._precision:
                dtype = getattr(torch, self._precision)
                device = leaves[0].device.type if leaves else "cpu"
                settings.enter_context(torch.autocast(device, dtype))
            self._module.train(self._training)
            outputs = torch.func.functional_call(self._module, state, args, kwargs)
        flat = tf.nest.flatten(_plain(outputs))
        self._structure = tf.nest.map_structure(torch.is_tensor, _plain(outputs))
        tensors = [it for it in flat if torch.is_tensor(it)]
        if self._precision:
            tensors = [it.to(dtype) if it.is_floating_point() else it for it in tensors]
        return tensors, [
            state[name].detach() for name in self._names[len(self._names) - self._num_buffers :]
        ]

    # --- In a program ------------------------------------------------------------------------------------

    def _gradients(self, tensors: Any, number: Any, results: Any, upstream: Any) -> list[Any]:
        """Returns the gradient of each argument, or `None`."""
        num_outputs = len(results) - self._num_buffers
        given = [
            tf.zeros_like(result) if it is None else tf.convert_to_tensor(it)
            for it, result in zip(upstream[:num_outputs], results[:num_outputs], strict=True)
            if _is_float(result)
        ]
        wanted = [it for it, is_wanted in zip(tensors, self._wanted, strict=False) if is_wanted]
        specs = [tf.TensorSpec(it.shape, it.dtype) for it in wanted]

        @tf.custom_gradient
        def backward(*values: tf.Tensor) -> Any:
            def second(*_: Any) -> Any:
                raise NotImplementedError(
                    "There is no gradient of a PyTorch module's gradient: `TorchModuleWrapper` is "
                    "differentiated once. Write the module as a layer of tfkit for second derivatives."
                )

            return _on_host(self._backward, (number, *values), specs), second

        found = iter(backward(*tensors, *given) if wanted else ())
        return [
            next(found) if is_wanted else None
            for is_wanted in [*self._wanted, *(False for _ in self._seed)]
        ]

    def _find_specs(self) -> None:
        """Finds shapes and dtypes of outputs by calls of PyTorch's `meta` tensors, which have no values."""
        if self._output is not None:
            self._structure, self._specs = True, [self._output]
            return
        unknown = any(not it.shape.is_fully_defined() for it in self._tensors)
        found = [self._example_outputs(sizes) for sizes in (_SIZES if unknown else _SIZES[:1])]
        self._specs = [
            tf.TensorSpec(
                # A size that is the same for both examples does not depend on the unknown sizes.
                [n if n == m else None for n, m in zip(one.shape, two.shape, strict=True)],
                _dtype(one),
            )
            for one, two in zip(found[0], found[-1], strict=True)
        ]

    def _example_outputs(self, sizes: tuple[int, int]) -> list[Any]:
        shapes = []
        for it in self._tensors:
            if it.shape.rank is None:
                raise ValueError(
                    "A PyTorch module got an input of unknown rank in a traced program, so that the shapes "
                    "of its outputs are unknown. Pass `output_shape` to `TorchModuleWrapper`."
                )
            shapes.append(
                [sizes[axis > 0] if size is None else size for axis, size in enumerate(it.shape)]
            )

        def outputs(device: str) -> list[Any]:
            examples = [
                torch.zeros(shape, dtype=getattr(torch, it.dtype.name), device=device)
                for shape, it in zip(shapes, self._tensors, strict=True)
            ]
            more = {n: it.to(device) for n, it in self._module.named_buffers()}
            with torch.no_grad(), torch.device(device):
                return self._applied(examples, None, more)[0]

        try:
            return outputs("meta")
        except Exception:
            # Of any kind: a module may read values, which `meta` tensors do not have.
            return outputs("cpu")


def _on_host(
    function: Callable[..., list[tf.Tensor]], tensors: Sequence[Any], specs: list[tf.TensorSpec]
) -> list[tf.Tensor]:
    """Returns the results of a function of eager tensors, now or when the program runs."""
    if tf.executing_eagerly():
        return function(*tensors)
    results = tf.py_function(function, tensors, [spec.dtype for spec in specs])
    for spec, result in zip(specs, results, strict=True):
        result.set_shape(spec.shape)
    return list(results)


def _to_torch(tensor: tf.Tensor) -> Any:
    """Returns an eager tensor as a tensor of PyTorch in the same memory."""
    # `identity`: DLPack passes ownership of memory, which a variable must keep.
    return torch.utils.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(tf.identity(tensor)))


def _from_torch(tensor: Any) -> tf.Tensor:
    """Returns a tensor of PyTorch as an eager tensor, in the same memory where that is dense and aligned."""
    tensor = tensor.detach().contiguous()
    if tensor.data_ptr() % _ALIGNMENT:
        tensor = tensor.clone()
    return tf.experimental.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))


def _plain(outputs: Any) -> Any:
    """Returns a nest of outputs in plain dicts, which may be objects of libraries."""
    if isinstance(outputs, Mapping):
        return {name: _plain(it) for name, it in outputs.items()}
    if isinstance(outputs, (list, tuple)) and not hasattr(outputs, "_fields"):
        return type(outputs)(_plain(it) for it in outputs)
    return outputs


def _is_float(tensor: tf.Tensor) -> bool:
    return bool(tensor.dtype.is_floating)


def _dtype(tensor: Any) -> tf.DType:
    return tf.as_dtype(str(tensor.dtype).removeprefix("torch."))
