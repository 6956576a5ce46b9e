"""The arguments of one layer call: bound to parameters, with `training` and `mask` filled in."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.protocols import HasPath
from tfkit.src.symbolic import masking, specs
from tfkit.src.symbolic.conversion import is_tensors


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
