"""The functions of a family: they have the same arguments, and build one network in several sizes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Protocol

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, Function, application
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

# Not its annotations: the function has its own.
_NAMED = ("__module__", "__name__", "__qualname__", "__doc__")


class Application(Protocol):
    """A function of a model, for type checkers."""

    def __call__(
        self,
        include_top: bool = ...,
        weights: Weights = ...,
        input_tensor: KerasTensor | None = ...,
        input_shape: Shape = ...,
        pooling: Pooling = ...,
        classes: int = ...,
        classifier_activation: Any = ...,
        name: str = ...,
    ) -> Model:
        """Returns the model."""


def titled(title: str, words: str) -> Callable[[Function], Function]:
    """Returns a decorator that gives a function its name, and its docstring: "Returns `title`, `words`."."""

    def entitle(function: Function) -> Function:
        function.__name__ = function.__qualname__ = title
        function.__doc__ = f"Returns {title}, {words}."
        return function

    return entitle


def with_options(family: Family, size: int | None = None) -> Callable[[Function], Application]:
    """Returns a decorator: `network(options, name=...)` gets the arguments that most families have.

    Args:
        family: the contents of its docstring.
        size: rows and columns of the images that the classifier accepts, if they differ from the family's.
    """

    def decorate(network: Function) -> Application:
        def function(
            include_top: bool = True,
            weights: Weights = "imagenet",
            input_tensor: KerasTensor | None = None,
            input_shape: Shape = None,
            pooling: Pooling = None,
            classes: int = 1000,
            classifier_activation: Any = "softmax",
            name: str = inspect.signature(network).parameters["name"].default,
        ) -> Model:
            return network(made_of(Options, locals()), name)

        functools.update_wrapper(function, network, _NAMED)
        del function.__wrapped__  # type: ignore[attr-defined]  # Its signature is its own.
        return application(family, size=size)(function)

    return decorate


def variant(
    family: Family,
    network: Callable[[Options, str, str], Model],
    title: str,
    words: str,
    size: int | None = None,
) -> Application:
    """Returns the function of a model, with the arguments that most families have.

    Args:
        family: the contents of its docstring.
        network: returns the model, from its options, its name, and the name of its architecture.
        title: name of the function. In lower case it is the default name of the model, and the architecture.
        words: what its docstring says after the title.
        size: rows and columns of the images that the classifier accepts, if they differ from the family's.
    """
    architecture = title.lower()

    @with_options(family, size)
    @titled(title, words)
    def function(options: Options, name: str = architecture) -> Model:
        return network(options, name, architecture)

    function.__module__ = network.__module__  # The module in which it is found by name.
    return function
