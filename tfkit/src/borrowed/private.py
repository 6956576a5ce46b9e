"""All names that tfkit uses from TensorFlow's private modules; no other file imports these modules.

`tests/test_borrowed.py` has a contract for each name: the call, and the required result. A new
TensorFlow that keeps the contracts runs tfkit. TensorFlow has no public counterparts of these names.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

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

# Whether AutoGraph converts a function, its exceptions, and the source maps of generated code.
from tensorflow.python.autograph.core import ag_ctx as ag_ctx
from tensorflow.python.autograph.core import config
from tensorflow.python.autograph.impl import api

# What `ParameterServerStrategy` puts around its variables.
from tensorflow.python.distribute.ps_values import AggregatingVariable as AggregatingVariable
from tensorflow.python.distribute.ps_values import CachingVariable as CachingVariable

# Functions by name: calls of programs, and registration of a `FunctionDef`.
from tensorflow.python.eager import context as context
from tensorflow.python.eager import tape as tape
from tensorflow.python.eager.polymorphic_function.atomic_function import (
    AtomicFunction as AtomicFunction,
)
from tensorflow.python.eager.record import could_possibly_record as could_possibly_record
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
from tensorflow.python.framework.op_def_library import apply_op as apply_op
from tensorflow.python.framework.ops import gradient_registry as gradient_registry
from tensorflow.python.grappler import tf_optimizer as tf_optimizer

# Variables.
from tensorflow.python.ops.handle_data_util import (
    get_resource_handle_data as get_resource_handle_data,
)
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable as BaseResourceVariable
from tensorflow.python.ops.resource_variable_ops import (
    default_variable_creator_v2 as default_variable_creator_v2,
)
from tensorflow.python.ops.resource_variable_ops import (
    write_object_proto_for_resource_variable as write_object_proto_for_resource_variable,
)
from tensorflow.python.saved_model import fingerprinting_utils as fingerprinting_utils
from tensorflow.python.saved_model.loader_impl import parse_saved_model as parse_saved_model
from tensorflow.python.saved_model.save_context import get_save_options as get_save_options
from tensorflow.python.saved_model.save_context import in_save_context as in_save_context
from tensorflow.python.saved_model.save_context import save_context as save_context

# TensorFlow's build flags.
from tensorflow.python.util import _pywrap_util_port


def last_variable_creator(creator: Callable[..., tf.Variable]) -> AbstractContextManager[None]:
    """Returns a `tf.variable_creator_scope` whose creator is called after those of strategies and of users.

    Only that of `tf.function`, in whose trace it must be entered, is called later.
    """
    graph = tf.compat.v1.get_default_graph()
    scope: AbstractContextManager[None] = graph._variable_creator_scope(creator, priority=75)
    return scope


def set_attribute(operation: tf.Operation, name: str, value: attr_value_pb2.AttrValue) -> None:
    """Sets an attribute of an operation of a graph, known to TensorFlow or not."""
    operation._set_attr(name, value)  # Seen in TensorFlow 2.21.


# Renamed for clarity.
autograph_api = api
autograph_config = config
build_flags = _pywrap_util_port
