"""All private names of TensorFlow that tfkit uses, except for datasets; other files use none.

A name is private if its module is, or if it is an attribute or a method whose name starts with an underscore.
`tests/test_borrowed.py` has a contract for each: the call, and the required result. A new TensorFlow that
keeps the contracts runs tfkit. All were seen in TensorFlow 2.21, which has no public counterparts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice as dynamic_update_slice

# Compiled programs of XLA in TensorFlow's file format.
from tensorflow.compiler.xla.service.hlo_pb2 import HloModuleProto as HloModuleProto

# The messages of TensorFlow's files and graphs.
from tensorflow.core.framework import attr_value_pb2 as attr_value_pb2
from tensorflow.core.framework import function_pb2 as function_pb2
from tensorflow.core.framework import types_pb2 as types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto as TensorProto
from tensorflow.core.protobuf.config_pb2 import ConfigProto as ConfigProto
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as SavedModel

# The errors of LiteRT's converter.
from tensorflow.lite.python.convert_phase import ConverterError as ConverterError

# Whether this thread's tapes record.
from tensorflow.python import pywrap_tfe as pywrap_tfe

# Whether AutoGraph converts a function, its exceptions, and the source maps of generated code.
from tensorflow.python.autograph.core import ag_ctx, config
from tensorflow.python.autograph.impl import api

# What `ParameterServerStrategy` puts around its variables.
from tensorflow.python.distribute.ps_values import AggregatingVariable as AggregatingVariable
from tensorflow.python.distribute.ps_values import CachingVariable as CachingVariable
from tensorflow.python.eager import backprop_util

# Functions by name: calls of programs, and registration of a `FunctionDef`.
from tensorflow.python.eager import context as context
from tensorflow.python.eager import execute as execute
from tensorflow.python.eager import tape as tape
from tensorflow.python.eager.forwardprop_util import pack_tangents as pack_tangents
from tensorflow.python.eager.polymorphic_function.atomic_function import (
    AtomicFunction as AtomicFunction,
)
from tensorflow.python.eager.record import VariableWatcher as VariableWatcher
from tensorflow.python.eager.record import could_possibly_record as could_possibly_record
from tensorflow.python.eager.record import record_operation as record_operation
from tensorflow.python.framework import kernels as kernels
from tensorflow.python.framework import op_def_registry as op_def_registry
from tensorflow.python.framework.auto_control_deps_utils import (
    get_read_only_resource_input_indices_graph as get_read_only_resource_input_indices_graph,
)
from tensorflow.python.framework.config import (
    is_op_determinism_enabled as is_op_determinism_enabled,
)

# Exports: variables as constants, TensorFlow's graph optimizer, fingerprints, reading without running.
from tensorflow.python.framework.convert_to_constants import (
    convert_variables_to_constants_v2 as convert_variables_to_constants_v2,
)
from tensorflow.python.framework.func_graph import FuncGraph as FuncGraph
from tensorflow.python.framework.op_def_library import apply_op as apply_op
from tensorflow.python.framework.ops import gradient_registry as gradient_registry
from tensorflow.python.grappler import tf_optimizer as tf_optimizer

# The graphs of branches and loops, which belong to the graph around them.
from tensorflow.python.ops.control_flow_v2_func_graphs import (
    CondBranchFuncGraph as CondBranchFuncGraph,
)
from tensorflow.python.ops.control_flow_v2_func_graphs import (
    WhileBodyFuncGraph as WhileBodyFuncGraph,
)
from tensorflow.python.ops.control_flow_v2_func_graphs import (
    WhileCondFuncGraph as WhileCondFuncGraph,
)

# Variables.
from tensorflow.python.ops.handle_data_util import copy_handle_data
from tensorflow.python.ops.handle_data_util import (
    get_resource_handle_data as get_resource_handle_data,
)
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable as BaseResourceVariable
from tensorflow.python.ops.resource_variable_ops import (
    default_variable_creator_v2 as default_variable_creator_v2,
)
from tensorflow.python.ops.resource_variable_ops import variable_accessed as variable_accessed
from tensorflow.python.ops.resource_variable_ops import write_object_proto_for_resource_variable
from tensorflow.python.saved_model import fingerprinting_utils as fingerprinting_utils
from tensorflow.python.saved_model.loader_impl import parse_saved_model as parse_saved_model
from tensorflow.python.saved_model.save_context import get_save_options as get_save_options
from tensorflow.python.saved_model.save_context import in_save_context as in_save_context
from tensorflow.python.saved_model.save_context import save_context as save_context

# Objects of SavedModels: what can be saved, and one whose attributes are saved.
from tensorflow.python.trackable.autotrackable import AutoTrackable as AutoTrackable
from tensorflow.python.trackable.base import Trackable as Trackable

# TensorFlow's build flags, and calls of its functions with arguments of other classes.
from tensorflow.python.util import _pywrap_util_port
from tensorflow.python.util.dispatch import GlobalOpDispatcher as GlobalOpDispatcher

# --- Graphs and functions -------------------------------------------------------------------------------


def set_attribute(operation: tf.Operation, name: str, value: attr_value_pb2.AttrValue) -> None:
    """Sets an attribute of an operation of a graph, whether or not TensorFlow knows it."""
    operation._set_attr(name, value)  # `get_attr` is public, and nothing that writes.


def attribute_scope(
    graph: tf.Graph, name: str, value: attr_value_pb2.AttrValue
) -> AbstractContextManager[None]:
    """Returns a context manager in which new operations of a graph get an attribute."""
    scope: AbstractContextManager[None] = graph._attr_scope({name: value})
    return scope


def replace_input(operation: tf.Operation, index: int, tensor: tf.Tensor) -> None:
    """Makes an operation of a graph read a different tensor."""
    # The only public way is to build the graph a second time.
    operation._update_input(index, tensor)


def functions_of_graph(graph: tf.Graph) -> list[AtomicFunction]:
    """Returns the functions that were added to a graph."""
    return list(graph._functions.values())  # Publicly only as a `GraphDef`, without their graphs.


def find_function(graph: tf.Graph, name: str) -> AtomicFunction | None:
    """Returns a function that was added to a graph, or `None` if there is none of this name."""
    return graph._get_function(name)


def graph_of_function(function: AtomicFunction | None) -> FuncGraph | None:
    """Returns the graph that a function was traced as, or `None` if it is no longer available."""
    # The public `graph` makes a new one then, which takes time and has no stack traces.
    return getattr(function, "_cached_graph", None)


def add_function(graph: tf.Graph, function: AtomicFunction) -> None:
    """Adds a function, and those that it calls, to a graph whose operations name it."""
    graph._add_function_recursive(function)  # `add_to_graph` is public for concrete functions only.


def traces_of(function: Any) -> list[Any]:
    """Returns the `ConcreteFunction` of each trace of a `tf.function`, the first one first."""
    return list(function._list_all_concrete_functions())  # Publicly only by their arguments.


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Context manager like `tf.init_scope`, but tapes that are opened inside record."""
    is_stopped = pywrap_tfe.TFE_Py_TapeSetIsStopped()
    with tf.init_scope():
        if is_stopped:
            yield
            return
        pywrap_tfe.TFE_Py_TapeSetRestartOnThread()
        try:
            yield
        finally:
            pywrap_tfe.TFE_Py_TapeSetStopOnThread()


class ObservedGraph(FuncGraph):
    """A graph that calls a method before an operation is added."""

    def before_operation(self, attributes: dict[str, Any]) -> None:
        """Receives the attributes of the operation; an error that it raises keeps the operation out."""

    def _create_op_internal(
        self, op_type: str, inputs: Any, dtypes: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        # Every operation of a graph is made here; the public `create_op` is not called for most.
        self.before_operation(kwargs.get("attrs") or {})
        return super()._create_op_internal(op_type, inputs, dtypes, *args, **kwargs)


# --- The runtime and its errors -------------------------------------------------------------------------


def call_in_this_thread(
    name: bytes, tensors: list[tf.Tensor], input_types: list[int], output_types: list[int]
) -> list[tf.Tensor]:
    """Returns the results of a function, computed by the calling thread, one operation after another.

    A function that is called by its name runs in TensorFlow's own threads while the caller waits, which takes
    35 microseconds more. An operation that calls a function is run like any single operation. If the function
    has loops or transfers between devices, TensorFlow uses its own threads all the same.
    """
    running = context.context()
    types = ("Tin", input_types, "Tout", output_types, "f", name)
    # The public `tf.raw_ops.StatefulPartitionedCall` does the same; the settings are private there too.
    settings = ("config_proto", running.function_call_options.config_proto_serialized)
    results: list[tf.Tensor] = execute.execute(
        "StatefulPartitionedCall", len(output_types), tensors, (*types, *settings), running
    )
    return results


class GradientFunctions:
    """The functions that TensorFlow makes for calls of a function that a tape records.

    Attributes:
        forward: the function, which also returns what the gradient needs.
        outputs: its outputs, in its graph.
        backward: the function of the gradient, a `ConcreteFunction`.
        trainable: which outputs of `forward` have gradients.
    """

    def __init__(self, function: Any, arguments: list[tf.Tensor], kind: int) -> None:
        # The public call makes these functions, too, and calls them.
        call = function._select_forward_and_backward_functions(arguments, kind, True)
        self._functions = call._functions
        self.forward = self._functions.forward(arguments, [])
        self._graph = self._functions._forward_graph
        # The graph gets more, if gradients of a higher order are taken later.
        count = len(self.forward.cached_definition.signature.output_arg)
        self.outputs = list(self._graph.outputs[:count])
        self.backward = self._functions._backward
        trainable = [backprop_util.IsTrainable(it) for it in self.outputs]
        self.trainable = [index for index, has_gradient in enumerate(trainable) if has_gradient]

    def wrapped(self, outputs: list[tf.Tensor]) -> Callable[..., Any]:
        """Returns TensorFlow's own function of the gradient, which tapes can follow."""
        wrapped = self._functions._wrap_backward_function(self._graph, self.backward, outputs)
        function: Callable[..., Any] = wrapped[0]
        return function


def possible_gradients(tensors: list[tf.Tensor]) -> int:
    """Returns 0 if no tape watches any of the tensors, 1 if one does, and 2 for gradients of gradients."""
    return int(pywrap_tfe.TFE_Py_TapeSetPossibleGradientTypes(tensors))


def has_begun() -> bool:
    """Whether TensorFlow has started its runtime, with its own threads."""
    running = context.context_safe()  # Each public question begins it.
    return running is not None and bool(running._initialized)


def has_read_flags() -> bool:
    """Whether TensorFlow has looked for devices, for which it reads the flags of the environment."""
    running = context.context_safe()  # The public list of devices looks for them.
    return running is not None and running._physical_devices is not None


def set_message(error: tf.errors.OpError, message: str) -> None:
    """Replaces the message of an error, whose public `message` can only be read."""
    error._message = message


# --- AutoGraph ------------------------------------------------------------------------------------------


def convert_by_autograph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose control flow on tensors, also in what it calls, is converted."""
    # The public `to_graph` accepts no bound methods of callable objects, and ignores who called it.
    enabled = ag_ctx.ControlStatusCtx(status=ag_ctx.Status.ENABLED)
    converted: Callable[..., Any] = api.tf_convert(function, enabled)
    return converted


def autograph_source_maps() -> Iterator[dict[Any, Any]]:
    """Yields the source maps of all functions that AutoGraph has converted."""
    cache = getattr(getattr(api._TRANSPILER, "_cache", None), "_cache", {})
    for factories in list(cache.values()):
        for factory in list(factories.values()):
            yield getattr(factory, "source_map", None) or {}


# --- Variables and strategies ---------------------------------------------------------------------------


def last_variable_creator(creator: Callable[..., tf.Variable]) -> AbstractContextManager[None]:
    """Returns a `tf.variable_creator_scope` whose creator is called after strategies' and users' creators.

    Only the creator of `tf.function` is called later. The scope must be entered in the function's trace.
    """
    graph = tf.compat.v1.get_default_graph()
    scope: AbstractContextManager[None] = graph._variable_creator_scope(creator, priority=75)
    return scope


def arguments_of_alias(variable: tf.Variable) -> dict[str, Any]:
    """Returns the arguments of `BaseResourceVariable` for a variable with the resource of a different one."""
    return {
        "shape": variable.shape,
        "dtype": variable.dtype,
        "handle": variable.handle,
        "handle_name": variable._shared_name,
        "unique_id": variable._unique_id,
        "distribute_strategy": strategy_of_variable(variable),
    }


def data_of_handle(handle: tf.Tensor) -> Any:
    """Returns the message with dtype and shape of the variable of a handle, or `None` if it has none.

    It is for handles outside of graphs; `get_resource_handle_data` is for those in graphs.
    """
    return getattr(handle, "_handle_data", None)


def handle_from(variable: Any, value: tf.Tensor) -> tf.Tensor:
    """Returns a new handle of a variable that holds `value`; the handle's gradients flow to `value`.

    Gradients belong to handles, whichever operation reads them. The value must have been assigned before.
    """

    @tf.custom_gradient
    def linked(value: tf.Tensor) -> Any:
        return tf.identity(variable.handle), tf.convert_to_tensor

    with tf.control_dependencies([tf.identity(variable)]):
        handle: tf.Tensor = linked(value)
    copy_handle_data(variable.handle, handle)
    return handle


def set_handle(variable: Any, handle: tf.Tensor) -> None:
    """Sets the handle through which a variable is read and assigned."""
    variable._handle = handle


def is_copied(variable: Any) -> bool:
    """Whether a strategy has made several copies of a variable."""
    return hasattr(variable, "_values")


def copies_of(variable: Any) -> tuple[Any, ...]:
    """Returns the copies that a strategy has made of a variable; otherwise the variable itself."""
    # The public `experimental_local_results` belongs to a strategy, which would have to be known.
    return tuple(getattr(variable, "_values", (variable,)))


def is_watched(variable: Any) -> bool:
    """Whether tapes watch a variable, which the public `trainable` of a subclass need not say."""
    return bool(variable._trainable)


def set_trainable(variable: Any, trainable: bool) -> None:
    """Sets whether tapes watch a variable and its copies, which the public `trainable` only returns."""
    for copy in copies_of(variable):
        copy._trainable = trainable


def set_constraint(variable: Any, constraint: Any) -> None:
    """Sets the constraint of a variable and of its copies, which the public `constraint` only returns."""
    for copy in copies_of(variable):
        copy._constraint = constraint


class VariableHooks:
    """A base, before TensorFlow's class, of variables whose `name` has no `":0"` at its end.

    TensorFlow calls these methods of a variable.
    """

    @property
    def _shared_name(self) -> str:
        return super().name.partition(":")[0]  # type: ignore[misc]

    def _value_given(self) -> tf.Tensor | None:
        """Is called before the value is read; returns what is read in its place, `None` for the value."""

    def _read_variable_op(self, *args: Any, **kwargs: Any) -> tf.Tensor:
        given = self._value_given()
        return super()._read_variable_op(*args, **kwargs) if given is None else given  # type: ignore[misc]

    def _write_object_proto(self, proto: Any, options: Any) -> None:
        # TensorFlow's own rejects a name without `":0"`.
        if is_copied(self):
            super()._write_object_proto(proto, options)  # type: ignore[misc]
        else:
            write_object_proto_for_resource_variable(self, proto, options, enforce_naming=False)


class ConversionHook:
    """A base, before TensorFlow's class, of variables that are read in a different dtype."""

    _cast_when_read: Callable[[tf.Tensor], tf.Tensor]  # Of the stored value; a static method.

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> tf.Tensor:
        """Is called where an operation receives the variable."""
        value = self._cast_when_read(super()._dense_var_to_tensor(name=name, as_ref=as_ref))  # type: ignore[misc]
        if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(value.dtype):
            return NotImplemented
        return value

    def _get_as_operand(self) -> Any:
        """Is called where an operator of Python's receives a variable with copies."""
        return self._cast_when_read(super()._get_as_operand())  # type: ignore[misc]


def strategy_of_variable(variable: Any) -> tf.distribute.Strategy | None:
    """Returns the strategy in whose scope a variable was made; `None` if it was in none."""
    return getattr(variable, "_distribute_strategy", None)


def whole_of_copy(variable: Any) -> Any:
    """Returns the variable that a strategy has made this copy of; `None` for other variables."""
    # TensorFlow notes it in one object or the other, depending on the class of the variable.
    container = getattr(variable.handle, "_distributed_container", None)
    container = container or getattr(variable, "_distributed_container", None)
    return None if container is None else container()


def communication_options(strategy: tf.distribute.Strategy) -> Any:
    """Returns the `CommunicationOptions` that a user has given to a strategy, if it has any."""
    return getattr(strategy.extended, "_communication_options", None)


def has_several_workers(strategy: tf.distribute.Strategy) -> bool:
    """Whether the replicas of a strategy run in several processes."""
    # A public `cluster_resolver` has no meaning that is the same for all strategies.
    return bool(strategy.extended._in_multi_worker_mode())


# --- Checkpoints ----------------------------------------------------------------------------------------


class Module(tf.Module):
    """A module that chooses which objects belong to it, for `tf.train.Checkpoint` and SavedModels."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(getattr(type(self), name, None), "__set__"):
            super().__setattr__(name, value)
            return
        # `tf.Module` would skip the setter of a property that has this value.
        object.__setattr__(self, name, value)
        if isinstance(value, Trackable):
            self._track_trackable(value, name, overwrite=True)

    def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]:
        """Returns the objects by name.

        Args:
            children: those that TensorFlow has found, in attributes.
            save_type: `"checkpoint"` or `"savedmodel"`.
        """
        return children

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return self._tfkit_children(super()._trackable_children(save_type, **kwargs), save_type)


# --- LiteRT ---------------------------------------------------------------------------------------------


def keep_tensor_lists(converter: tf.lite.TFLiteConverter) -> bool:
    """Makes a converter keep the operations on lists of tensors; returns whether it would have replaced them.

    Its errors advise users to set this attribute, which has no public name.
    """
    was_lowering = bool(converter._experimental_lower_tensor_list_ops)
    converter._experimental_lower_tensor_list_ops = False
    return was_lowering


# Renamed for clarity.
autograph_config = config
build_flags = _pywrap_util_port
