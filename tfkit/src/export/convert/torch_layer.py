"""`TorchModuleWrapper`: a module of PyTorch as a layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import recomputation
from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer
from tfkit.src.export.convert import frameworks
from tfkit.src.weights.random import SeedGenerator


class TorchModuleWrapper(Layer):
    """Calls a module of PyTorch (`torch.nn.Module`), on the host, outside the TensorFlow program.

    Its parameters and buffers become weights of the layer, which `fit` trains and files hold by path;
    tensors go to PyTorch and back in the same memory (DLPack), and gradients are PyTorch's. Random
    numbers follow from a seed of the layer, so that `tfkit.utils.set_random_seed` sets them. Buffers
    change only in training.

    XLA cannot compile a program that calls it, and an export to another format or process cannot hold
    it. `tfkit.interop.to_torch` is the opposite direction.

    Args:
        module: the module; or a function without arguments that returns it. Files need the function, under
            a name that is registered by `@tfkit.saving.register_keras_serializable()`, or a registered
            class of the module with `get_config` and `from_config`: a file holds no code.
        name: name of the layer; `None` for a default name.
        output_shape: shape of the output, with the batch, where a trace cannot find it out: `(None, 8)`.
            Then the output is one tensor of the compute dtype. `None` to find it out.
        **kwargs: arguments of every layer, with their defaults: `trainable`, whether training changes the
            weights (`True`); `dtype`, a dtype or a dtype policy (`None`, the global policy), where a mixed
            one is `torch.autocast`; `autocast`, whether float inputs are cast to the compute dtype
            (`True`); `activity_regularizer`, a penalty on the outputs (`None`).

    Call arguments:
        *args: what the module accepts.
        training: whether the module is in the mode of training; set by `fit` and by layers outside.
        **kwargs: what it accepts by name.

    Input shape: Any that the module accepts.

    Output shape: That of its outputs.

    Raises:
        ImportError: without PyTorch.
        TypeError: if `module` is neither a module nor a function that returns one.
        ValueError: for a module whose parameters have no shape yet.

    Example:
        >>> import importlib.util
        >>> if importlib.util.find_spec("torch"):
        ...     import torch
        ...
        ...     layer = tfkit.layers.TorchModuleWrapper(torch.nn.Linear(3, 2))
        ...     assert layer(np.ones((4, 3), "float32")).shape == (4, 2)
    """

    def __init__(
        self,
        module: Any,
        name: str | None = None,
        output_shape: Any = None,
        **kwargs: Any,
    ) -> None:
        made = _made(module)
        super().__init__(name=name, **kwargs)
        self._given, self._module = module, made
        self.output_shape = output_shape
        self.seed_generator = SeedGenerator()
        self._parameters = {
            name: self._weight(name, value, is_trained)
            for name, value, is_trained in _calling().parameters(made)
        }
        self._buffers = {
            name: self._weight(name, value, False) for name, value in _calling().buffers(made)
        }

    def _weight(self, name: str, value: tf.Tensor, is_trained: bool) -> tf.Variable:
        return self.add_weight(
            name=name,
            shape=value.shape,
            initializer=value,
            dtype=self.variable_dtype if value.dtype.is_floating else value.dtype.name,
            trainable=is_trained,
            autocast=False,
        )

    @property
    def module(self) -> Any:
        """The module, with the values of the weights at this moment. It is a copy that calls do not read."""
        _calling().assign(self._module, {**self._parameters, **self._buffers})
        return self._module

    def parameters(self, recurse: bool = True) -> Any:
        """Returns the module's parameters, with the values of the weights at this moment.

        Args:
            recurse: whether to include those of its submodules.
        """
        return self.module.parameters(recurse=recurse)

    def call(self, *args: Any, training: bool = False, **kwargs: Any) -> Any:
        """Returns the outputs of the module."""
        training, policy = bool(training), self.dtype_policy
        output = None
        if self.output_shape is not None:
            output = tf.TensorSpec(self.output_shape, self.compute_dtype)
        host_call = _calling().HostCall(
            self._module,
            (args, kwargs),
            [
                (name, tf.convert_to_tensor(it), it.trainable and self.trainable)
                for name, it in self._parameters.items()
            ],
            {name: tf.convert_to_tensor(it) for name, it in self._buffers.items()},
            self.seed_generator.next() if training else None,
            training,
            policy.compute_dtype if policy.is_mixed else None,
            output,
        )
        outputs, changed = host_call.run()
        # A recomputation calls the layer twice; buffers change once.
        if training and not recomputation.is_second():
            for weight, value in zip(self._buffers.values(), changed, strict=True):
                weight.assign(tf.cast(value, weight.dtype))
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments: the module by the name of what makes it, without values.

        Raises:
            TypeError: for a module that was given itself, and has no `get_config`.
        """
        if not (hasattr(self._given, "get_config") or not _calling().is_module(self._given)):
            raise TypeError(
                f"Layer '{self.path}' (of type TorchModuleWrapper) holds a module of PyTorch "
                f"({type(self._given).__name__}), which a configuration cannot hold: that is code. "
                "Pass a registered function that makes the module instead of the module: "
                "`TorchModuleWrapper(make_module)`, with `@tfkit.saving.register_keras_serializable()` on "
                "`def make_module(): ...`. Or store weights alone: `model.save_weights(path)`."
            )
        return {
            **super().get_config(),
            "module": serialization.serialize_keras_object(self._given),
        }


def _made(module: Any) -> Any:
    """Returns the module that is given, or that a given function makes.

    Raises:
        TypeError: if it is not a module.
        ValueError: for parameters without a shape.
    """
    if isinstance(module, (str, bytes, dict)):
        raise TypeError(
            "Argument `module` of layer TorchModuleWrapper must be a `torch.nn.Module`, or a function that "
            f"returns one. Received: a {type(module).__name__}. Keras stores a module as a pickle, which may "
            "run any code: tfkit does not read it. Make the model in Python, and load its weights."
        )
    calling = _calling()
    made = module if calling.is_module(module) or not callable(module) else module()
    if not calling.is_module(made):
        raise TypeError(
            "Argument `module` of layer TorchModuleWrapper must be a `torch.nn.Module`, or a function that "
            f"returns one. Received: {made!r} (of type {type(made).__name__})"
        )
    if calling.is_uninitialized(made):
        raise ValueError(
            "LazyModules are not supported unless they are already initialized: call the module once before. "
            f"Received uninitialized LazyModule: module={made}"
        )
    return made


def _calling() -> Any:
    return frameworks.of_torch("calling", "`TorchModuleWrapper`")
