"""The arguments of one layer call: tensors made of arrays, and `training` and `mask` filled in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import nests, settings
from tfkit.src.symbolic import masking, specs
from tfkit.src.symbolic.tensors import KerasTensor

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer

_TENSORS = (tf.Tensor, tf.Variable, tf.SparseTensor, tf.RaggedTensor, KerasTensor)


class CallSignature:
    """The parameters of a layer's `call`, and how arguments are matched to them.

    Args:
        call: the layer's bound method.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self.signature = inspect.signature(call)
        parameters = self.signature.parameters
        self.names = tuple(parameters)
        self.has_training = "training" in parameters
        self.takes_any_keyword = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        )
        self.training_default = (
            parameters["training"].default if self.has_training else inspect.Parameter.empty
        )
        self.mask_names = tuple(n for n in self.names if n == "mask" or n.endswith("_mask"))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], layer: Layer) -> CallArguments:
        """Matches the arguments of a call to the parameters of `call`.

        Args:
            args: positional arguments.
            kwargs: keyword arguments; `training` is for the call, whether or not it is a parameter of
                `call`.
            layer: the layer, for messages.

        Raises:
            TypeError: where they do not match.
        """
        training = kwargs.get("training")
        if "training" in kwargs and not self.has_training and not self.takes_any_keyword:
            kwargs = {name: value for name, value in kwargs.items() if name != "training"}
        try:
            bound = self.signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(
                f"Layer '{layer.path}' cannot be called with these arguments: {error}. Its method is "
                f"`call{self.signature}`."
            ) from None
        if self.has_training:
            training = bound.get("training")
        return CallArguments(self, args, kwargs, bound, training)


class CallArguments:
    """The arguments of one call.

    Attributes:
        args, kwargs: what is handed to `call`, as the user gave it and as tensors.
        by_name: the same by parameter name, without defaults.
        training: the mode that was asked for, or `None`.
    """

    __slots__ = ("args", "by_name", "kwargs", "signature", "training")

    def __init__(
        self,
        signature: CallSignature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        by_name: dict[str, Any],
        training: Any,
    ) -> None:
        self.signature = signature
        self.args = args
        self.kwargs = kwargs
        self.by_name = by_name
        self.training = training

    @property
    def first(self) -> Any:
        """The first argument, a tensor or a nest of tensors."""
        return next(iter(self.by_name.values()), None)

    def tensors(self) -> dict[str, Any]:
        """The arguments that are tensors or nests of nothing but tensors, by parameter name."""
        return {name: value for name, value in self.by_name.items() if _is_tensors(value)}

    def shapes(self) -> dict[str, Any]:
        """The shapes of the tensor arguments by parameter name, as tuples in the same nests."""
        return {
            name: specs.shapes_of(value)
            for name, value in self.tensors().items()
            if name != "mask" and name in self.signature.names
        }

    def specs(self, as_given: bool = False) -> dict[str, Any]:
        """The specs of the tensor arguments, with any batch, by parameter name.

        Args:
            as_given: whether they say what the caller gave: dtypes before casts, and masks, too.
        """
        left_out = () if as_given else self.signature.mask_names
        return {
            name: tf.nest.map_structure(lambda leaf: specs.spec_of(leaf, as_given), value)
            for name, value in self.tensors().items()
            if name in self.signature.names and name not in left_out
        }

    def mode(self, inherited: Any) -> Any:
        """The training mode of the call: what was asked for, else the caller's, else the default."""
        default = self.signature.training_default
        for mode in (self.training, inherited, default):
            if mode is not None and mode is not inspect.Parameter.empty:
                return mode
        return False

    def filled(self, training: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """Arguments for `call` with `training` and masks filled in, and the mask of the input."""
        by_name = dict(self.by_name)
        if self.signature.has_training and by_name.get("training") is None:
            by_name["training"] = training
        tensors = self.tensors() if self.signature.mask_names else {}
        for name, value in tensors.items():
            mask_name = "mask" if len(tensors) == 1 else f"{name}_mask"
            if mask_name in self.signature.mask_names and by_name.get(mask_name) is None:
                by_name[mask_name] = masking.masks_of(value)
        bound = inspect.BoundArguments(self.signature.signature, by_name)
        mask = by_name.get("mask")
        return bound.args, bound.kwargs, masking.masks_of(self.first) if mask is None else mask


def as_tensors(value: Any, compute_dtype: str | None) -> Any:
    """`value` with arrays as tensors, and float tensors in `compute_dtype`; masks stay attached.

    Symbolic tensors stay as they are: a cast would be a step of its own in a functional model. The
    layer casts in the trace, and whenever the model calls it.
    """
    if isinstance(value, tf.Tensor):
        if compute_dtype is None or not value.dtype.is_floating or value.dtype == compute_dtype:
            return value
        cast = tf.cast(value, compute_dtype)
        masking.set_mask(cast, masking.get_mask(value))
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
            cast.set_shape(value.shape)  # In a trace, the cast forgets it.
        return cast
    if hasattr(value, "__array__") and not isinstance(value, type):
        tensor = as_tensors(tf.convert_to_tensor(value), compute_dtype)
        if specs.given_dtype(tensor) == tf.float64 != tensor.dtype:
            # What NumPy makes of Python's floats: nobody has chosen it.
            tensor._tfkit_given = tf.as_dtype(settings.floatx())
        return tensor
    return value


def _is_tensors(value: Any) -> bool:
    if isinstance(value, _TENSORS) or not nests.is_nested(value):
        return isinstance(value, _TENSORS)
    items = nests.children(value)
    return bool(items) and all(item is None or _is_tensors(item) for item in items)


def check_tensors(value: Any, layer: Layer) -> None:
    """Refuses positional arguments that are no tensors, as Keras does."""
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
