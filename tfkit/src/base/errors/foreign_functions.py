"""Advice for errors of functions of JAX and PyTorch that were given tensors of TensorFlow, or the reverse."""

from __future__ import annotations

import re

_OF_JAX = (
    "Functions of JAX do not compute with tensors of TensorFlow. Use `ops` in a `call`, or put a function of "
    "JAX into `layers.JaxLayer`; `compile(engine='jax')` and `interop.to_jax` run on JAX what is written "
    "with `ops`."
)
_OF_TORCH = (
    "Functions of PyTorch do not compute with tensors of TensorFlow. Use `ops` in a `call`, or put a module "
    "of PyTorch into `layers.TorchModuleWrapper`; `interop.to_torch` makes a module of a layer."
)
_IN_JAX = (
    "`ops` and layers compute with TensorFlow, for which `jax.jit` and `jax.grad` have no values. "
    "`interop.to_jax(layer, example)` makes a function of JAX of a layer; `compile(engine='jax')` trains a "
    "model on JAX, with functions of JAX in `layers.JaxLayer`."
)
# The messages of JAX 0.10 and PyTorch 2.13, by the types of their errors.
_MESSAGES = (
    ("TypeError", r"problematic value is of type <class '(tensorflow|tfkit)\.", _OF_JAX),
    ("TypeError", r"must be Tensor, not .*(Eager|Symbolic|Keras)Tensor", _OF_TORCH),
    ("TypeError", r"must be Tensor, not (\w+\.)*Variable", _OF_TORCH),
    ("TracerArrayConversionError", "", _IN_JAX),
)


def advise(error: BaseException) -> None:
    """Adds a note to an error, if it is one of these."""
    kind = type(error).__name__
    for name, pattern, advice in _MESSAGES:
        if kind == name and re.search(pattern, str(error)):
            if advice not in getattr(error, "__notes__", ()):
                error.add_note(advice)
            return
