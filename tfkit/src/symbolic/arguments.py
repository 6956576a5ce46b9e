"""The arguments of a layer call: as tensors, bound to parameters, with `training` and `mask` filled in."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests, settings
from tfkit.src.base.errors import other_keras
from tfkit.src.base.protocols import HasPath
from tfkit.src.base.registry import dtypes
from tfkit.src.symbolic import masking, specs
from tfkit.src.symbolic.tensors import KerasTensor


class CallSignature:
    """The parameters of a layer's `call`, and how arguments are matched to them.

    Args:
        call: the layer's bound method.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self.signature = inspect.signature(call)
        parameters = self.signature.parameters
        self.names = tuple(parameters)
        training = parameters.get("training")
        self.has_training = training is not None
        self.training_default = getattr(training, "default", inspect.Parameter.empty)
        self.takes_any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        # As in Keras: `mask` is for the only tensor argument, `query_mask` for the argument `query`.
        self.mask_names = tuple(n for n in self.names if n == "mask" or n.endswith("_mask"))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], layer: HasPath) -> CallArguments:
        """Matches the arguments of a call to the parameters of `call`.

        Args:
            args: positional arguments.
            kwargs: keyword arguments; `training` is for the call, whether or not it is a parameter of
                `call`.
            layer: the layer, for messages.

        Raises:
            TypeError: if they do not match.
        """
        training = kwargs.get("training")
        # Any layer accepts a mode: even if it does not use it itself, its sublayers may.
        if "training" in kwargs and not self.has_training and not self.takes_any_keyword:
            kwargs = {name: value for name, value in kwargs.items() if name != "training"}
        try:
            bound = self.signature.bind(*args, **kwargs).arguments
            # A second positional argument, such as a second input, by mistake.
            if "training" in bound and "training" not in kwargs:
                raise TypeError("`training` is passed by keyword only")
        except TypeError as error:
            raise TypeError(
                f"Layer '{layer.path}' cannot be called with these arguments: {error}. Its method is "
                f"`call({', '.join(self.names)})`."
            ) from None
        if self.has_training:
            training = bound.get("training")
        return CallArguments(self, bound, training, len(args))


@dataclasses.dataclass(slots=True)
class CallArguments:
    """The arguments of one call, converted to tensors."""

    signature: CallSignature
    by_name: dict[str, Any]  # As tensors, by parameter name, without defaults.
    training: Any  # The mode that the caller passed, or `None`.
    num_positional: int  # How many of them the caller passed by position.

    @property
    def first(self) -> Any:
        """The first argument, a tensor or a nest of tensors."""
        return next(iter(self.by_name.values()), None)

    @property
    def takes_mask(self) -> bool:
        """Whether `call` has a parameter for a mask."""
        return bool(self.signature.mask_names)

    def tensors(self) -> dict[str, Any]:
        """Returns the arguments that are tensors or nests of only tensors, by parameter name."""
        return {name: value for name, value in self.by_name.items() if is_tensors(value)}

    def shapes(self) -> dict[str, Any]:
        """Returns the shapes of the tensor arguments by parameter name, as tuples in the same nests."""
        return {
            name: specs.shapes_of(value)
            for name, value in self.tensors().items()
            # Tensors in `**kwargs` of `call` have no shape argument in `build`.
            if name != "mask" and name in self.signature.names
        }

    def specs(self, as_given: bool = False) -> dict[str, Any]:
        """Returns the specs of the tensor arguments, with any batch, by parameter name.

        Args:
            as_given: whether they describe the caller's arguments: with dtypes before casts, and with masks.
        """
        left_out = () if as_given else self.signature.mask_names
        return {
            name: tf.nest.map_structure(lambda leaf: specs.spec_of(leaf, as_given), value)
            for name, value in self.tensors().items()
            if name in self.signature.names and name not in left_out
        }

    def mode(self, inherited: Any) -> Any:
        """Returns the training mode of the call: the one passed, else the caller's, else the layer's default.

        `None` if none of them is given. Each layer inside then uses its own default, so that a model of
        random image layers changes images as such a layer does.
        """
        # `False` is a mode: only `None` leaves the choice to the next one.
        for mode in (self.training, inherited, self.signature.training_default):
            if mode is not None and mode is not inspect.Parameter.empty:
                return mode
        return None

    def filled(self, training: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """Returns the arguments for `call` with `training` and masks filled in, and the mask of the input."""
        by_name = dict(self.by_name)
        if self.signature.has_training and by_name.get("training") is None:
            # A parameter without a default is given a mode even if the caller passed none.
            required = self.signature.training_default is inspect.Parameter.empty
            by_name["training"] = False if training is None and required else training
        tensors = self.tensors() if self.signature.mask_names else {}
        for name, value in tensors.items():
            # With several tensor arguments, `mask` would not say which of them it is for.
            mask_name = "mask" if len(tensors) == 1 else f"{name}_mask"
            if mask_name in self.signature.mask_names and by_name.get(mask_name) is None:
                by_name[mask_name] = masking.masks_of(value)
        bound = inspect.BoundArguments(self.signature.signature, by_name)
        mask = by_name.get("mask")
        # `BoundArguments` would pass all that it can by position. What the caller passed by keyword remains a
        # keyword: `call` may be wrapped in a function with the parameters `(inputs, **kwargs)`.
        later = self.signature.names[self.num_positional : len(bound.args)]
        kwargs = bound.kwargs | {name: by_name[name] for name in later}
        args = bound.args[: self.num_positional]
        return args, kwargs, masking.masks_of(self.first) if mask is None else mask


_TENSORS = (tf.Tensor, tf.Variable, tf.SparseTensor, tf.RaggedTensor, KerasTensor)


def as_tensors(value: Any, compute_dtype: str | None) -> Any:
    """Returns `value` with arrays as tensors, and float tensors in `compute_dtype`; masks are kept.

    Symbolic tensors are not changed: a cast would be recorded as a call in a functional model. The layer
    casts in the trace, and whenever the model calls it.
    """
    if isinstance(value, tf.Tensor):
        dtype = value.dtype
        # Names are compared first, since every call of a layer runs this: comparing a dtype with a name takes
        # longer.
        if compute_dtype is None or dtype.name == compute_dtype:
            return value
        if not dtype.is_floating or dtype == compute_dtype:
            return value
        cast = tf.cast(value, compute_dtype)
        # Attributes of a tensor, such as its mask, do not pass through an operation.
        masking.set_mask(cast, masking.get_mask(value))
        # An export declares the caller's dtype, not the dtype of the computation: under `mixed_float16`
        # a client still sends float32.
        cast._tfkit_given = value.dtype
        return cast
    if nests.is_nested(value):
        return nests.mapped(lambda item: as_tensors(item, compute_dtype), value)
    if isinstance(value, KerasTensor):
        return value
    if isinstance(value, (tf.SparseTensor, tf.RaggedTensor, tf.Variable)):
        is_float = tf.as_dtype(value.dtype).is_floating
        if compute_dtype is None or not is_float or value.dtype == compute_dtype:
            return value
        cast = tf.cast(value, compute_dtype)
        if isinstance(value, tf.SparseTensor):
            cast.set_shape(value.shape)  # In a trace, the cast loses the attribute.
        return cast
    # A class has the method too, which then belongs to its instances.
    if hasattr(value, "__array__") and not isinstance(value, type):
        if type(value).__name__ == "KerasTensor":
            raise ValueError(
                f"{value!r} is not a symbolic tensor of tfkit.{other_keras.advice(value)}"
            )
        # For an array the same as `tf.convert_to_tensor`, which looks for the function to convert it with.
        is_array = isinstance(value, np.ndarray)
        tensor = tf.constant(value) if is_array else tf.convert_to_tensor(value)
        tensor = as_tensors(tensor, compute_dtype)
        if specs.given_dtype(tensor) == tf.float64 != tensor.dtype:
            # NumPy's default for Python's floats, and therefore not the user's choice.
            tensor._tfkit_given = tf.as_dtype(settings.floatx())
        return tensor
    return value


def symbolic_in_dtype(value: Any, dtype: str) -> Any:
    """Returns a nest whose symbolic floats have a dtype; masks are kept."""
    if nests.is_nested(value):
        return nests.mapped(lambda item: symbolic_in_dtype(item, dtype), value)
    is_float = isinstance(value, KerasTensor) and dtypes.is_float(value.dtype)
    if not is_float or value.dtype == dtype:
        return value
    # Without a node: the cast belongs to the layer's own call, which is recorded as one.
    cast = KerasTensor(value.shape, dtype, value.sparse, value.ragged)
    masking.set_mask(cast, masking.get_mask(value))
    return cast


def is_tensors(value: Any) -> bool:
    """Whether `value` is a tensor, or a nest that contains only tensors."""
    if isinstance(value, _TENSORS) or not nests.is_nested(value):
        return isinstance(value, _TENSORS)
    items = nests.children(value)
    # An optional input may be missing. An empty nest is an argument like any other.
    return bool(items) and all(item is None or is_tensors(item) for item in items)


def check_tensors(value: Any, layer: HasPath) -> None:
    """Raises an error for positional arguments that are not tensors, as Keras does."""
    # An optional input may be `None`.
    if value is None or isinstance(value, _TENSORS):
        return
    if not nests.is_nested(value):
        raise ValueError(
            f"Only input tensors may be passed as positional arguments. Layer '{layer.path}' received "
            f"{value!r} (of type {type(value).__name__}), which should be passed as a keyword argument "
            "(numbers in a list: pass `np.array(...)`)."
        )
    for item in nests.children(value):
        check_tensors(item, layer)
