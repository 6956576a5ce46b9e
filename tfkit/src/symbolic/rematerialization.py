"""Computes activations twice instead of keeping them, to save memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.calls import calls
from tfkit.src.base.recomputation import Recomputation, add_losses
from tfkit.src.symbolic.masking import get_mask, set_mask


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `f` with intermediate results that are computed again for the gradient instead of kept.

    Args:
        f: a layer or a function of tensors. Its variables must exist before the first call.

    Returns:
        A function with the same results and gradients: the second computation has the same mode and random
        numbers as the first, and updates nothing.

    Reference:
        Chen, Xu, Zhang, Guestrin (2016), "Training deep nets with sublinear memory cost",
        https://arxiv.org/abs/1604.06174.

    Example:
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = remat(lambda x: tf.square(x) + x)(x)
        >>> float(tape.gradient(y, x))
        7.0
    """

    # `f` may be a layer, whose attributes must not be copied to the function.
    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        # One object for both runs: random draws of the second must repeat the draws of the first, and
        # updates of state must not happen twice.
        frame, recomputation = calls.frame, Recomputation()
        # The frame of the call is kept: it has the mode, and the dtype in which weights are read.
        given = tf.nest.flatten((args, kwargs))
        forms: list[Any] = []  # The results of the first computation.

        # TensorFlow passes other tensors the second time, with the same values; their masks are passed on
        # here.
        def call(tensors: Sequence[Any]) -> Any:
            copies = iter(tensors)
            # Integers and other arguments have no gradient: they stay as they are, in a closure.
            leaves = [next(copies) if _has_gradient(leaf) else leaf for leaf in given]
            for leaf, copy in zip(given, leaves, strict=True):
                set_mask(copy, get_mask(leaf))
            args_again, kwargs_again = tf.nest.pack_sequence_as((args, kwargs), leaves)
            return f(*args_again, **kwargs_again)

        def compute(*tensors: Any) -> list[Any]:
            if forms:
                # The gradient may be computed after the call that contains it.
                before, calls.frame = calls.frame, frame
                try:
                    with recomputation.second():
                        results = call(tensors)
                finally:
                    calls.frame = before
            else:
                with recomputation.first():
                    results = call(tensors)
                forms.append(results)
            # Losses of layers inside are results as well: their gradients go through here.
            losses = [loss for _, loss in recomputation.losses]
            return [*filter(_has_gradient, tf.nest.flatten(results)), *losses]

        # Every tensor with a gradient is an argument: a tensor in a closure would get none.
        flat = iter(tf.recompute_grad(compute)(*filter(_has_gradient, given)))
        outputs = []
        for result in tf.nest.flatten(forms[0]):
            outputs.append(next(flat) if _has_gradient(result) else result)
            set_mask(outputs[-1], get_mask(result))
        # `flat` has the losses at its end, where `compute` put them.
        for (owner, _), loss in zip(recomputation.losses, flat, strict=True):
            # The loss that comes out of `recompute_grad`, so that its gradient is computed from the second
            # run.
            add_losses(owner, [loss])
        return tf.nest.pack_sequence_as(forms[0], outputs)

    return rematerialized


def _has_gradient(leaf: Any) -> bool:
    return tf.is_tensor(leaf) and (leaf.dtype.is_floating or leaf.dtype.is_complex)


_MODES = (None, "full", "activations", "larger_than", "list_of_layers")


class RematScope:
    """A scope for layers that keep no intermediate results for the gradient, as with `remat`.

    The first call of a layer whose sublayers are not built is computed as usual, since `remat` makes no
    variables.

    Args:
        mode: which layers. `"full"`: all layers. `"activations"`: the activation functions of all layers.
            `"larger_than"`: layers whose output has more elements than a threshold, counting unknown sizes
            as 1. `"list_of_layers"`: layers whose names are in a list. `None`: none, which switches an outer
            scope off. Default: `"full"`.
        output_size_threshold: number of elements, for `"larger_than"`. Default: `1024`.
        layer_names: list of names, for `"list_of_layers"`.

    Raises:
        ValueError: for any other mode.

    Example:
        >>> with RematScope(mode="larger_than", output_size_threshold=100):
        ...     layer = tfkit.layers.Dense(200, activation="relu")
        >>> layer(tf.ones((2, 3))).shape
        TensorShape([2, 200])
    """

    def __init__(
        self,
        mode: str | None = "full",
        output_size_threshold: int = 1024,
        layer_names: Sequence[str] | None = None,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(
                f"Invalid mode of RematScope. Expected one of {_MODES}. Received: {mode!r}"
            )
        self.mode = mode
        self.output_size_threshold = output_size_threshold
        self.layer_names = list(layer_names or ())

    def __enter__(self) -> RematScope:
        context.put(remat_scopes=(*context.current().remat_scopes, self))
        return self

    def __exit__(self, *exception: object) -> None:
        context.put(remat_scopes=context.current().remat_scopes[:-1])

    def applied(
        self, call: Callable[..., Any], owner: Any, outputs: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Returns `call`, the computation of a layer or an operation, in the form that the mode requires.

        Args:
            call: the computation.
            owner: the layer or operation.
            outputs: returns the outputs of the call, as tensors or symbolic ones.
        """
        if self.mode == "activations":
            return _with_activation_again(call, owner)
        again = {
            "full": lambda: True,
            "list_of_layers": lambda: owner.name in self.layer_names,
            "larger_than": lambda: _size(outputs()) > self.output_size_threshold,
        }[str(self.mode)]
        return remat(call) if again() else call


def current_scope() -> RematScope | None:
    """Returns the innermost scope of this thread; `None` if there is none, or if it is switched off."""
    scopes = context.current().remat_scopes
    return scopes[-1] if scopes and scopes[-1].mode is not None else None


def _size(outputs: Any) -> int:
    """Returns the number of elements; an unknown size counts as 1."""
    shapes = [tuple(leaf.shape) for leaf in tf.nest.flatten(outputs)]
    return sum(math.prod(size or 1 for size in shape) for shape in shapes)


def _with_activation_again(call: Callable[..., Any], owner: Any) -> Callable[..., Any]:
    activation = getattr(owner, "activation", None)
    if activation is None:
        return call

    def with_activation_again(*args: Any, **kwargs: Any) -> Any:
        # Not by `setattr`, which would make traces of the layer stale: to its watchers nothing changes.
        own = vars(owner)
        own["activation"] = remat(activation)
        try:
            return call(*args, **kwargs)
        finally:
            own["activation"] = activation

    return with_activation_again
