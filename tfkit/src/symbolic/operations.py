"""`Operation`: a computation with a name, which can be called on symbolic tensors."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, Self

from tfkit.src.base.errors import tracebacks
from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import auto_name, check_name
from tfkit.src.base.registry import constructors, dtype_policies, serialization
from tfkit.src.symbolic import rematerialization, tensors
from tfkit.src.symbolic.tensors import Node


class Operation(Overridable, metaclass=abc.ABCMeta):
    """A computation without state, which can be used between the layers of a functional model.

    A subclass computes in `call`. A call on symbolic tensors is recorded. So are the arguments of the
    constructor, so that `get_config` needs no override. `isinstance(layer, Operation)` is true for layers,
    and objects with weights must be a `Layer`.

    Args:
        name: name of the operation, a string without `/`; `None` to make one from the class's name.

    Raises:
        ValueError: if the name is not a string, or contains a `/`.

    Example:
        >>> class Scaled(Operation):
        ...     def __init__(self, factor, name=None):
        ...         super().__init__(name)
        ...         self.factor = factor
        ...
        ...     def call(self, x):
        ...         return self.factor * x
        >>> scaled = Scaled(3.0)
        >>> float(scaled(tf.constant(2.0))), scaled(tfkit.Input((4,))).shape
        (6.0, (None, 4))
        >>> scaled.get_config()
        {'name': 'scaled', 'factor': 3.0}
    """

    __signature__ = constructors.ConstructorSignature()
    _arguments: constructors.ConstructorArguments

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Creates the operation and records the constructor's arguments for `get_config()`."""
        operation = super().__new__(cls)
        # In `__new__`, because a subclass's constructor may change its arguments before it calls this
        # one's.
        operation._arguments = constructors.ConstructorArguments(cls, args, kwargs)
        operation._inbound_nodes = []
        return operation

    @shortened
    def __init__(self, name: str | None = None) -> None:
        check_name(name)
        self.name = name or auto_name(type(self).__name__)
        self._inbound_nodes: list[Node] = []
        # The scope in which an operation is made counts, not the scope in which it is called.
        self._remat = rematerialization.current_scope()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes `call`; on symbolic tensors, the call is recorded.

        Args:
            *args: arguments of `call`.
            **kwargs: keyword arguments of `call`.
        """
        try:
            if tensors.any_symbolic(args, kwargs):
                return self.symbolic_call(*args, **kwargs)
            return self.rematerialized_call(self.call, *args, **kwargs)(*args, **kwargs)
        except BaseException as error:
            tracebacks.shorten(error)
            raise

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Any:
        """Records a call on symbolic tensors, and returns its symbolic outputs.

        Example:
            >>> class Double(tfkit.Operation):
            ...     def call(self, x):
            ...         return 2 * x
            >>> Double().symbolic_call(tfkit.Input((3,))).shape
            (None, 3)
        """
        # An error in the trace leaves no node behind.
        node = Node(self, args, kwargs, self.compute_output_spec(*args, **kwargs))
        self._inbound_nodes.append(node)
        return node.outputs

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs. Subclasses override it.

        Example:
            >>> class Double(tfkit.Operation):
            ...     def call(self, x):
            ...         return 2 * x
            >>> Double()(tf.constant([1.0, 2.0])).numpy()
            array([2., 4.], dtype=float32)
        """
        raise NotImplementedError(
            f"Operation {type(self).__name__} does not have a `call` method implemented. Define "
            "`def call(self, x): ...`."
        )

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic outputs for symbolic tensors: a trace of `call` gives them, unless overridden.

        Example:
            >>> class Double(tfkit.Operation):
            ...     def call(self, x):
            ...         return 2 * x
            >>> Double().compute_output_spec(tfkit.Input((3,))).shape
            (None, 3)
        """
        return tensors.trace(self.call, args, kwargs)

    def rematerialized_call(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Callable[..., Any]:
        """Returns `fn`, with `remat` if the operation was made in a `RematScope` that includes it.

        Example:
            >>> operation = tfkit.Operation()
            >>> square = operation.rematerialized_call(tf.square, tf.constant(3.0))
            >>> float(square(tf.constant(3.0)))
            9.0
        """
        if self._remat is None:
            return fn
        return self._remat.applied(fn, self, lambda: self.compute_output_spec(*args, **kwargs))

    @property
    def input(self) -> Any:
        """The symbolic inputs of the first recorded call; a list if there are several."""
        inputs = self._first_node("input").input_tensors
        return inputs[0] if len(inputs) == 1 else inputs

    @property
    def output(self) -> Any:
        """The symbolic outputs of the first recorded call; a list if there are several."""
        outputs = self._first_node("output").output_tensors
        return outputs[0] if len(outputs) == 1 else outputs

    def _first_node(self, what: str) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(
                f"The operation {self.name} has never been called on symbolic tensors and thus has no "
                f"defined {what}."
            )
        return self._inbound_nodes[0]

    def get_config(self) -> dict[str, Any]:
        """Returns the name and the constructor's arguments as data.

        An override that starts from `super().get_config()` gets the name.

        Raises:
            NoConfigurationError: that names the argument that cannot be saved.

        Example:
            >>> class Scale(tfkit.Operation):
            ...     def __init__(self, factor):
            ...         super().__init__(name="scale")
            ...         self.factor = factor
            >>> Scale(3).get_config()
            {'factor': 3}
        """
        # For an override, which adds the arguments of its constructor itself.
        recorded = self._arguments
        if type(self).get_config is not Operation.get_config:
            return {"name": self.name}
        config = {"name": self.name} if recorded.accepts("name") else {}
        for name, value in recorded.as_dict().items():
            if name != "name":
                try:
                    config[name] = serialization.serialize_keras_object(value)
                except TypeError as error:
                    raise constructors.NoConfigurationError(
                        f"Cannot create the configuration of operation '{self.name}': its argument "
                        f"`{name}` cannot be saved. {error} Or define `get_config()` and `from_config()`."
                    ) from None
        return config

    @classmethod
    @shortened
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns a new operation with the arguments that `config` holds.

        Example:
            >>> class Scale(tfkit.Operation):
            ...     def __init__(self, factor, name=None):
            ...         super().__init__(name=name)
            ...         self.factor = factor
            >>> Scale.from_config({"factor": 3}).factor
            3
        """
        return constructors.made_from(cls, dtype_policies.constructor_arguments(config))

    def __repr__(self) -> str:
        return f"<Operation name={self.name}>"


# A functional model lists operations, and a function can be called many times: each call becomes
# a separate operation, so that names and connections stay unambiguous.
class FunctionCall(Operation):
    """One recorded call of a function, such as one of `tfkit.ops`, as an operation with a name.

    Args:
        node: the recorded call.
        name: the name.
    """

    def __init__(self, node: Node, name: str) -> None:
        super().__init__(name)
        self._inbound_nodes = [node]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function, which records the call."""
        return self.call(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self._inbound_nodes[0].operation(*args, **kwargs)

    @property
    def __name__(self) -> str:
        """The name of the function."""
        return str(self._inbound_nodes[0].operation.__name__)
