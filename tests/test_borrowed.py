"""What tfkit borrows from TensorFlow's private modules does what tfkit needs: a contract for each name."""

import ast
import inspect
import linecache
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf
from tensorflow.python.util import dispatch

import tfkit
from tfkit.src.borrowed import datasets, private, tensorflow_alone

SOURCES = Path(tfkit.__file__).parent
# Files that run apart from tfkit, or before TensorFlow is there.
APART = (
    "src/borrowed/",
    "src/export/c_api/",
    "src/export/onnx_worker.py",
    "src/outer/serving/bodies/",
)
CONTRACTS = {}


def contract(function):
    CONTRACTS[function.__name__] = function
    return function


def doubling():
    """A `ConcreteFunction` that reads one variable and writes another."""
    read, written = tf.Variable(2.0), tf.Variable(0.0)

    def double(x):
        written.assign(x)
        return x * read

    function = tf.function(double, autograph=False)
    concrete = function.get_concrete_function(tf.TensorSpec([], tf.float32))
    concrete.kept = (read, written, function)
    return concrete


@contract
def dynamic_update_slice():
    update = tf.function(
        lambda x, rows: private.dynamic_update_slice(x, rows, tf.constant([1])), jit_compile=True
    )
    assert update(tf.zeros(4), tf.ones(2)).numpy().tolist() == [0, 1, 1, 0]


@contract
def set_attribute():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(1.0)
    private.set_attribute(x.op, "_mark", private.attr_value_pb2.AttrValue(i=3))
    assert graph.as_graph_def().node[0].attr["_mark"].i == 3


@contract
def HloModuleProto():
    module = private.HloModuleProto(name="tfkit_0")
    assert private.HloModuleProto.FromString(module.SerializeToString()).name == "tfkit_0"
    assert module.ByteSize() == 9


@contract
def attr_value_pb2():
    value = private.attr_value_pb2.AttrValue(b=True)
    assert value.WhichOneof("value") == "b"


@contract
def function_pb2():
    copy = private.function_pb2.FunctionDef()
    copy.CopyFrom(doubling().function_def)
    assert [node.op for node in copy.node_def].count("AssignVariableOp") == 1


@contract
def types_pb2():
    assert tf.resource.as_datatype_enum == private.types_pb2.DT_RESOURCE


@contract
def TensorProto():
    assert isinstance(tf.make_tensor_proto([1.0]), private.TensorProto)


@contract
def ConfigProto():
    options = private.ConfigProto().graph_options.rewrite_options
    options.optimizers.append("constfold")
    assert list(options.optimizers) == ["constfold"]


@contract
def MetaGraphDef():
    assert private.MetaGraphDef().graph_def == tf.Graph().as_graph_def(add_shapes=False).__class__()


@contract
def SavedModel():
    assert hasattr(private.SavedModel(), "meta_graphs")


@contract
def autograph_config():
    assert any("tfkit" in str(vars(rule)) for rule in private.autograph_config.CONVERSION_RULES)
    assert isinstance(private.autograph_config.DoNotConvert("a"), object)


@contract
def convert_by_autograph():
    def chooses(x):
        if x > 0:
            return x
        return -x

    made = tf.function(lambda x: private.convert_by_autograph(chooses)(x), autograph=False)
    assert float(made(tf.constant(-1.0))) == 1.0


@contract
def autograph_source_maps():
    def chooses(x):
        if x > 0:
            return x
        return -x

    tf.function(chooses)(tf.constant(1.0))
    line = chooses.__code__.co_firstlineno + 1
    origins = [it for found in private.autograph_source_maps() for it in found.values()]
    assert (__file__, line) in {(it.loc.filename, it.loc.lineno) for it in origins}


@contract
def context():
    concrete = doubling()
    name = concrete.function_def.signature.name
    running = private.context.context()
    assert running is private.context.context_safe()
    copy = private.function_pb2.FunctionDef()
    copy.CopyFrom(concrete.function_def)
    copy.signature.name = "borrowed_copy"
    assert running.has_function(name)
    running.add_function_def(copy)
    assert running.has_function("borrowed_copy")
    tensors = [tf.constant(3.0), *concrete.captured_inputs]
    assert [float(it) for it in running.call_function(b"borrowed_copy", tensors, 1)] == [6.0]
    running.clear_kernel_cache()
    assert [float(it) for it in running.call_function(b"borrowed_copy", tensors, 1)] == [6.0]


@contract
def AtomicFunction():
    concrete = doubling()
    name = concrete.function_def.signature.name
    function = private.AtomicFunction(name, private.context.context(), None)

    @tf.function(autograph=False, jit_compile=True)
    def calls(x):
        private.add_function(tf.compat.v1.get_default_graph(), function)
        return tf.raw_ops.StatefulPartitionedCall(
            args=[x, *concrete.captured_inputs], Tout=[tf.float32], f=function.name
        )

    assert [float(it) for it in calls(tf.constant(3.0))] == [6.0]


@contract
def tape():
    variable = tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as recording:
        private.tape.variable_accessed(variable)
        result = variable * 3.0
    assert float(recording.gradient(result, variable)) == 3.0


@contract
def VariableWatcher():
    variable = tf.Variable(1.0)
    with private.VariableWatcher() as watcher:
        variable.read_value()
    assert [id(it) for it in watcher.watched_variables()] == [id(variable)]


@contract
def could_possibly_record():
    assert not private.could_possibly_record()
    with tf.GradientTape():
        assert private.could_possibly_record()


@contract
def record_operation():
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        private.record_operation("any", [y], [x], lambda gradient: [5 * gradient])
    assert float(tape.gradient(y, x)) == 5.0


@contract
def variable_accessed():
    variable, frozen = tf.Variable(2.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        private.variable_accessed(variable)
        private.variable_accessed(frozen)
    assert [id(it) for it in tape.watched_variables()] == [id(variable)]


@contract
def possible_gradients():
    x = tf.constant(3.0)
    assert private.possible_gradients([x]) == 0
    with tf.GradientTape() as tape:
        assert private.possible_gradients([x]) == 0
        tape.watch(x)
        assert private.possible_gradients([x]) == 1
        with tf.GradientTape() as inner:
            inner.watch(x)
            assert private.possible_gradients([x]) == 2
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        assert private.possible_gradients([x]) == 2


@contract
def GradientFunctions():
    concrete = tf.function(lambda x: [x**2, tf.shape(x)]).get_concrete_function(tf.constant([3.0]))
    x = tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = private.GradientFunctions(concrete, [x], 1)
    running = private.context.context()
    outputs = running.call_function(made.forward.name, [x], len(made.outputs))
    assert float(outputs[0][0]) == 9.0
    assert made.trainable[0] == 0
    assert 1 not in made.trainable
    needed = [id(it) for it in made.outputs]
    inputs = [outputs[needed.index(id(it))] for it in made.backward.captured_inputs]
    (gradient,) = running.call_function(made.backward.name, [tf.ones(1), *inputs], 1)
    assert float(gradient[0]) == 6.0
    assert len(made.backward.structured_outputs) == 1
    # Gradients of a higher order add outputs to the graph, and TensorFlow's own gradient still fits.
    private.GradientFunctions(concrete, [x], 2)
    assert float(made.wrapped(outputs)(tf.ones(1), None)[0][0]) == 6.0


@contract
def pack_tangents():
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)):
        assert private.pack_tangents([]).indices
    with tf.GradientTape() as tape:
        tape.watch(x)
        assert not private.pack_tangents([]).indices


@contract
def init_scope():
    x = tf.constant(3.0)
    for scope, expected in ((tf.init_scope, None), (private.init_scope, 6.0)):
        with scope(), tf.GradientTape() as tape:
            tape.watch(x)
            y = x**2
        assert tape.gradient(y, x) == expected


@contract
def pywrap_tfe():
    def is_stopped():
        return private.pywrap_tfe.TFE_Py_TapeSetIsStopped()

    with tf.init_scope():
        assert is_stopped()
        with private.init_scope():
            assert is_stopped()
    with private.init_scope():
        assert not is_stopped()
    assert not is_stopped()


@contract
def kernels():
    tf.function(lambda: tf.constant(0), jit_compile=True)()
    found = private.kernels.get_registered_kernels_for_op("MatMul").kernel
    assert {"CPU", "XLA_CPU_JIT"} <= {kernel.device_type for kernel in found}


@contract
def op_def_registry():
    definition = private.op_def_registry.get("MatMul")
    assert [argument.type_attr for argument in definition.input_arg] == ["T", "T"]
    assert private.op_def_registry.get("NoSuchOperation") is None
    assert private.op_def_registry.get("AssignVariableOp").is_stateful
    assert private.op_def_registry._cache["MatMul"] is definition


@contract
def gradient_registry():
    """The gradient that a user wrote is the variable `grad_fn` in a closure of a closure."""

    @tf.custom_gradient
    def doubled(x):
        def gradient(dy):
            return 3 * dy

        return 2 * x, gradient

    graph = tf.function(doubled).get_concrete_function(tf.TensorSpec([])).graph
    (node,) = [it for it in graph.as_graph_def().node if it.op == "IdentityN"]
    outer = private.gradient_registry.lookup(node.attr["_gradient_op_type"].s.decode())

    def variables_of(function):
        cells = [it.cell_contents for it in function.__closure__]
        return dict(zip(function.__code__.co_freevars, cells, strict=True))

    inner = variables_of(outer)["tape_grad_fn"]
    assert variables_of(inner)["grad_fn"].__module__ == __name__


@contract
def get_read_only_resource_input_indices_graph():
    concrete = doubling()
    (only,) = private.get_read_only_resource_input_indices_graph(concrete.graph)
    assert concrete.inputs[only] is concrete.graph.captures[list_of_read(concrete)][1]


def list_of_read(concrete):
    """The place of the variable that is read among what a function captures."""
    (place,) = (
        place
        for place, (outer, _) in enumerate(concrete.graph.captures)
        if outer is concrete.kept[0].handle
    )
    return place


@contract
def apply_op():
    function = tf.function(
        lambda a, b: private.apply_op("XlaEinsum", a=a, b=b, equation="ij,jk->ik"), jit_compile=True
    )
    assert function(tf.ones((2, 3)), tf.ones((3, 1))).numpy().tolist() == [[3], [3]]


@contract
def convert_variables_to_constants_v2():
    constant = tf.constant(2.0)
    variable = tf.Variable(constant)
    function = tf.function(lambda x: x * variable)
    frozen = private.convert_variables_to_constants_v2(
        function.get_concrete_function(tf.TensorSpec([], tf.float32))
    )
    assert not frozen.variables
    assert not frozen.captured_inputs
    assert float(frozen(tf.constant(3.0))[0]) == 6.0


@contract
def tf_optimizer():
    graph = tf.Graph()
    with graph.as_default():
        total = tf.constant(1.0) + tf.constant(2.0)
        tf.compat.v1.get_collection_ref("train_op").append(total)
        meta_graph = tf.compat.v1.train.export_meta_graph()
    config = private.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1
    config.graph_options.rewrite_options.optimizers.append("constfold")
    optimized = private.tf_optimizer.OptimizeGraph(config, meta_graph)
    assert {node.op for node in optimized.node if node.name == total.op.name} == {"Const"}


@contract
def fingerprinting_utils(folder=None):
    tf.saved_model.save(tf.Module(), str(folder))
    before = tf.saved_model.experimental.read_fingerprint(str(folder))
    (folder / "fingerprint.pb").unlink()
    private.fingerprinting_utils.write_fingerprint(str(folder))
    after = tf.saved_model.experimental.read_fingerprint(str(folder))
    assert after.saved_model_checksum == before.saved_model_checksum


@contract
def parse_saved_model(folder=None):
    tf.saved_model.save(tf.Module(), str(folder))
    parsed = private.parse_saved_model(str(folder))
    assert isinstance(parsed, private.SavedModel)
    assert len(parsed.meta_graphs) == 1


@contract
def get_save_options():
    with private.save_context(tf.saved_model.SaveOptions(save_debug_info=True)):
        assert private.get_save_options().save_debug_info


@contract
def in_save_context():
    assert not private.in_save_context()


@contract
def save_context():
    with private.save_context(tf.saved_model.SaveOptions()):
        assert private.in_save_context()


@contract
def get_resource_handle_data():
    variable, found = tf.Variable(tf.zeros((2, 3))), []

    @tf.function(autograph=False)
    def reads():
        handle = tf.compat.v1.get_default_graph().capture(variable.handle)
        found.append(private.get_resource_handle_data(handle))

    reads()
    (data,) = found
    assert data.is_set
    assert tf.TensorShape(data.shape_and_type[0].shape) == (2, 3)


@contract
def BaseResourceVariable():
    assert isinstance(tf.Variable(1.0), private.BaseResourceVariable)


@contract
def last_variable_creator():
    called = []

    def creator(next_creator, **options):
        called.append(options["name"])
        with tf.init_scope():
            return private.default_variable_creator_v2(None, **options)

    def first(next_creator, **options):
        return next_creator(**{**options, "name": f"of {options['name']}"})

    made = []

    def traced():
        with private.last_variable_creator(creator), tf.variable_creator_scope(first):
            made.append(tf.Variable(1.0, name="one"))

    outer = tf.function(traced, autograph=False)
    with tf.variable_creator_scope(first):
        outer.get_concrete_function()
    assert called == ["of of one"]
    assert len(made) == 1  # `tf.function` does not trace again.


@contract
def default_variable_creator_v2():
    def creator(next_creator, **options):
        return private.default_variable_creator_v2(None, **options)

    with tf.variable_creator_scope(creator):
        assert float(tf.Variable(3.0)) == 3.0


@contract
def AggregatingVariable():
    variable = tf.Variable(3.0)
    around = private.AggregatingVariable(None, variable, tf.VariableAggregation.NONE)
    assert around.get() is variable


@contract
def CachingVariable():
    variable = tf.Variable(3.0)
    assert private.CachingVariable(variable).get() is variable


@contract
def VariableHooks():
    read, given = [], None

    class Named(private.VariableHooks, type(tf.Variable(1.0))):
        name = "weight"

        def __init__(self):
            pass

        def _value_given(self):
            read.append(self)
            return given

    variable = tf.Variable(tf.zeros((2, 3)), name="weight")
    variable.__class__ = Named
    proto = private.SavedModel().meta_graphs.add().object_graph_def.nodes.add()
    variable._write_object_proto(proto, tf.saved_model.SaveOptions())
    assert proto.variable.name.startswith("weight")
    assert tf.TensorShape(proto.variable.shape) == (2, 3)
    assert not read
    assert variable.read_value().shape == (2, 3)
    assert [it is variable for it in read] == [True]
    given = tf.ones((2, 3))
    assert float(tf.reduce_sum(variable.read_value())) == 6.0


@contract
def ConversionHook():
    class Cast(private.ConversionHook, type(tf.Variable(1.0))):
        _cast_when_read = staticmethod(lambda value: tf.cast(value, tf.float16))

        def __init__(self):
            pass

    variable = tf.Variable([1.0])
    variable.__class__ = Cast
    assert tf.convert_to_tensor(variable).dtype == tf.float16
    # So TensorFlow asks its other ways to convert.
    assert variable._dense_var_to_tensor(dtype=tf.int32) is NotImplemented

    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        copied = tf.Variable([1.0])
    own = {"_cast_when_read": vars(Cast)["_cast_when_read"], "__init__": lambda self: None}
    copied.__class__ = type("Copied", (private.ConversionHook, type(copied)), own)
    assert (-copied).dtype == copied[0].dtype == (2 * copied).dtype == tf.float16


@contract
def Module(folder=None):
    class Kept(private.Module):
        asked = ()

        def _tfkit_children(self, children, save_type):
            self.asked = (*self.asked, save_type)
            return children | {"hidden": hidden}

    hidden, module = tf.Variable(3.0), Kept()
    tf.train.Checkpoint(module=module).write(str(folder))
    assert "module/hidden/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(str(folder)))
    assert set(module.asked) == {"checkpoint"}
    tf.saved_model.save(module, str(folder.parent / "model"))
    assert "savedmodel" in module.asked


@contract
def is_op_determinism_enabled():
    assert private.is_op_determinism_enabled() is False  # It cannot be taken back, so not tried.


@contract
def ConverterError():
    function = tf.function(lambda x: tf.strings.as_string(x), autograph=False)
    concrete = function.get_concrete_function(tf.TensorSpec([1], tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    with pytest.raises(private.ConverterError):
        converter.convert()


@contract
def build_flags():
    assert private.build_flags.IsMklEnabled() in (True, False)


@contract
def attribute_scope():
    graph = tf.Graph()
    with (
        graph.as_default(),
        private.attribute_scope(graph, "_mark", private.attr_value_pb2.AttrValue(i=3)),
    ):
        x = tf.constant(1.0)
    assert x.op.get_attr("_mark") == 3


@contract
def replace_input():
    graph = tf.Graph()
    with graph.as_default():
        x, y = tf.constant(1.0), tf.constant(2.0)
        negative = -x
    private.replace_input(negative.op, 0, y)
    assert negative.op.inputs[0] is y


def calling():
    """The graph of a function that calls another one, and the name of that."""
    inner = tf.function(lambda x: 2 * x, autograph=False)
    outer = tf.function(lambda x: inner(x) + 1, autograph=False)
    graph = outer.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    (call,) = [it for it in graph.get_operations() if it.type == "PartitionedCall"]
    return graph, call.get_attr("f").name


@contract
def functions_of_graph():
    graph, name = calling()
    assert [it.name.decode() for it in private.functions_of_graph(graph)] == [name]


@contract
def find_function():
    graph, name = calling()
    assert private.find_function(graph, name) is private.functions_of_graph(graph)[0]
    assert private.find_function(graph, "no_such_function") is None


@contract
def graph_of_function():
    graph, name = calling()
    inner = private.graph_of_function(private.find_function(graph, name))
    assert "Mul" in {it.type for it in inner.get_operations()}
    assert private.graph_of_function(None) is None


@contract
def add_function():
    graph, name = calling()
    with tf.Graph().as_default() as other:
        private.add_function(other, private.find_function(graph, name))
    assert [it.signature.name for it in other.as_graph_def().library.function] == [name]


@contract
def traces_of():
    function = tf.function(lambda x: 2 * x, autograph=False)
    first = function.get_concrete_function(tf.TensorSpec([], tf.float32))
    second = function.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert private.traces_of(function) == [first, second]


@contract
def FuncGraph():
    with (
        private.FuncGraph("scratch").as_default() as outer,
        private.FuncGraph("inner").as_default() as graph,
    ):
        tf.compat.v1.placeholder("float32", [2])
    assert (graph.name, graph.outer_graph, outer.name) == ("inner", outer, "scratch")
    assert isinstance(doubling().graph, private.FuncGraph)


def graphs_inside(branching):
    """The graphs in which a function of control flow calls its branches."""
    graphs = []

    def noting(x):
        graphs.append(tf.compat.v1.get_default_graph())
        return x + 1

    tf.function(lambda x: branching(noting, x), autograph=False)(tf.constant(0))
    return graphs


@contract
def CondBranchFuncGraph():
    branches = graphs_inside(lambda f, x: tf.cond(x > 0, lambda: f(x), lambda: f(-x)))
    assert [type(it) for it in branches] == [private.CondBranchFuncGraph] * 2


@contract
def WhileBodyFuncGraph():
    (body,) = graphs_inside(lambda f, x: tf.while_loop(lambda x: x < 2, f, [x]))
    assert type(body) is private.WhileBodyFuncGraph


@contract
def WhileCondFuncGraph():
    (condition,) = graphs_inside(
        lambda f, x: tf.while_loop(lambda x: f(x) < 2, lambda x: x + 1, [x])
    )
    assert type(condition) is private.WhileCondFuncGraph


@contract
def ObservedGraph():
    class Counted(private.ObservedGraph):
        found = ()

        def before_operation(self, attributes):
            self.found = (*self.found, attributes["num"].i if "num" in attributes else None)

    with Counted("counted").as_default() as graph:
        tf.unstack(tf.compat.v1.placeholder("float32", [3]))
    assert graph.found == (None, 3)


@contract
def call_in_this_thread():
    concrete = doubling()
    tensors = [tf.constant(3.0), *concrete.captured_inputs]
    kinds = [tf.float32, *[it.dtype for it in concrete.captured_inputs]]
    inputs = [kind.as_datatype_enum for kind in kinds]
    name = concrete.function_def.signature.name.encode()
    outputs = [tf.float32.as_datatype_enum]
    assert [float(it) for it in private.call_in_this_thread(name, tensors, inputs, outputs)] == [6]
    assert concrete.kept[1].numpy() == 3


@contract
def execute():
    (total,) = private.execute.execute(
        "AddV2",
        1,
        [tf.constant(1), tf.constant(2)],
        ("T", tf.int32.as_datatype_enum),
        private.context.context(),
    )
    assert int(total) == 3


@contract
def has_begun():
    tf.constant(0) + 1
    assert private.has_begun()
    was, private.context = private.context, SimpleNamespace(context_safe=lambda: fresh)
    fresh = was.Context()
    try:
        assert not private.has_begun()
        assert not private.has_read_flags()
        fresh = None
        assert not private.has_begun()
        assert not private.has_read_flags()
    finally:
        private.context = was


@contract
def has_read_flags():
    tf.constant(0) + 1
    assert private.has_read_flags()


@contract
def set_message():
    error = tf.errors.InvalidArgumentError(None, None, "before")
    private.set_message(error, "after")
    assert (error.message, str(error)) == ("after", "after")


@contract
def keep_tensor_lists():
    function = tf.function(lambda x: x, autograph=False)
    concrete = function.get_concrete_function(tf.TensorSpec([1], tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.SELECT_TF_OPS]
    private.keep_tensor_lists(converter)
    assert private.keep_tensor_lists(converter) is False


@contract
def Trackable():
    assert isinstance(tf.Variable(1.0), private.Trackable)
    assert isinstance(
        tf.lookup.experimental.MutableHashTable("string", "int64", -1), private.Trackable
    )
    assert not isinstance(tf.constant(1.0), private.Trackable)


@contract
def AutoTrackable(folder=None):
    root = private.AutoTrackable()
    root.variables = [tf.Variable(3.0)]
    tf.saved_model.save(root, str(folder))
    assert float(tf.saved_model.load(str(folder)).variables[0]) == 3.0


@contract
def GlobalOpDispatcher():
    class Ours:
        pass

    class Dispatcher(private.GlobalOpDispatcher):
        def handle(self, op, args, kwargs):
            return "ours" if isinstance(kwargs["x"], Ours) else self.NOT_SUPPORTED

    dispatchers = dispatch._GLOBAL_DISPATCHERS
    before = list(dispatchers)
    try:
        Dispatcher().register()
        assert tf.square(x=Ours()) == "ours"
        assert float(tf.square(x=3.0)) == 9.0
    finally:
        dispatchers[:] = before


@contract
def arguments_of_alias():
    variable = tf.Variable([2.0], name="weight")
    alias = private.BaseResourceVariable(trainable=True, **private.arguments_of_alias(variable))
    alias.assign([3.0])
    assert variable.numpy().tolist() == [3.0]
    assert alias.name == "weight:0"


@contract
def data_of_handle():
    data = private.data_of_handle(tf.Variable([2.0]).handle)
    assert tf.as_dtype(data.shape_and_type[0].dtype) == tf.float32
    assert private.data_of_handle(object()) is None


def mirrored():
    """A variable with a copy for each of two devices of one kind, and its strategy."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        return strategy, tf.Variable(2.0, aggregation=tf.VariableAggregation.MEAN)


@contract
def is_copied():
    assert private.is_copied(mirrored()[1])
    assert not private.is_copied(tf.Variable(1.0))


@contract
def copies_of():
    strategy, variable = mirrored()
    assert private.copies_of(variable) == strategy.experimental_local_results(variable)
    plain = tf.Variable(1.0)
    assert private.copies_of(plain) == (plain,)


@contract
def is_watched():
    assert private.is_watched(tf.Variable(1.0))
    assert not private.is_watched(tf.Variable(1.0, trainable=False))


@contract
def set_trainable():
    for variable in (tf.Variable(1.0), mirrored()[1]):
        private.set_trainable(variable, False)
        assert not variable.trainable
        with tf.GradientTape() as recording:
            result = 2 * variable
        assert recording.gradient(result, variable) is None


@contract
def handle_from():
    variable = tf.Variable([1.0, 2.0], trainable=False)

    def gradients(value):
        with tf.GradientTape() as recording:
            recording.watch(value)
            handle = private.handle_from(variable, value)
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            gathered = tf.raw_ops.ResourceGather(resource=handle, indices=[1], dtype=tf.float32)
            result = tf.reduce_sum(read**2) + tf.reduce_sum(gathered)
        return recording.gradient(result, value)

    value = tf.constant([1.0, 2.0])
    for function in (gradients, tf.function(gradients), tf.function(gradients, jit_compile=True)):
        assert function(value).numpy().tolist() == [2.0, 5.0]


@contract
def set_handle():
    variable, other = tf.Variable(1.0), tf.Variable(2.0)
    private.set_handle(variable, other.handle)
    assert float(variable + 1.0) == float(tf.function(lambda: variable + 1.0)()) == 3.0


@contract
def set_constraint():
    for variable in (tf.Variable(1.0), mirrored()[1]):
        private.set_constraint(variable, tf.abs)
        assert variable.constraint is tf.abs


@contract
def strategy_of_variable():
    strategy, variable = mirrored()
    assert private.strategy_of_variable(variable) is strategy
    assert private.strategy_of_variable(tf.Variable(1.0)) is None


@contract
def whole_of_copy():
    _, variable = mirrored()
    assert private.whole_of_copy(private.copies_of(variable)[0]) is variable
    assert private.whole_of_copy(tf.Variable(1.0)) is None


@contract
def communication_options():
    options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=7)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    assert private.communication_options(strategy).bytes_per_pack == 7
    assert private.communication_options(tf.distribute.get_strategy()) is None


@contract
def has_several_workers():
    assert private.has_several_workers(tf.distribute.MirroredStrategy(["CPU:0"])) is False


# --- Datasets -------------------------------------------------------------------------------------------

ROWS = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})


@contract
def kind_of():
    kinds = {
        "_TensorSliceDataset": ROWS,
        "_ShuffleDataset": ROWS.shuffle(2),
        "_TakeDataset": ROWS.take(2),
        "_SkipDataset": ROWS.skip(2),
        "_BatchDataset": ROWS.batch(2),
        "_ParallelBatchDataset": ROWS.batch(2, num_parallel_calls=2),
        "_PrefetchDataset": ROWS.prefetch(2),
        "_OptionsDataset": ROWS.with_options(tf.data.Options()),
    }
    assert [datasets.kind_of(it) for it in kinds.values()] == list(kinds)
    for part, dataset in {
        "Shard": ROWS.shard(2, 1),
        "Cache": ROWS.cache(),
        "Repeat": ROWS.repeat(),
        "Concatenate": ROWS.concatenate(ROWS),
    }.items():
        assert part in datasets.kind_of(dataset)


@contract
def inputs_of():
    assert datasets.inputs_of(ROWS) == []
    assert datasets.inputs_of(ROWS.shuffle(2)) == [ROWS]
    assert datasets.inputs_of(ROWS.concatenate(ROWS)) == [ROWS, ROWS]


@contract
def tensors_of():
    assert [it.numpy().tolist() for it in datasets.tensors_of(ROWS)] == [[1, 2, 3], [4, 5, 6]]


@contract
def batch_size_of():
    assert int(datasets.batch_size_of(ROWS.batch(2))) == 2
    assert datasets.batch_size_of(ROWS) is None


@contract
def drops_remainder():
    assert not datasets.drops_remainder(ROWS.batch(2))
    assert datasets.drops_remainder(ROWS.batch(2, drop_remainder=True, num_parallel_calls=2))


@contract
def count_of():
    assert (datasets.count_of(ROWS.take(2)), datasets.count_of(ROWS.skip(-1))) == (2, -1)


@contract
def window_of():
    assert datasets.window_of(ROWS.shuffle(7)) == 7


@contract
def seeds_of():
    first, second = datasets.seeds_of(ROWS.shuffle(7, seed=5))
    assert 5 in (first, second)
    assert datasets.seeds_of(ROWS) is None


@contract
def has_order_for_each_pass():
    assert datasets.has_order_for_each_pass(ROWS.shuffle(7))
    assert not datasets.has_order_for_each_pass(ROWS.shuffle(7, reshuffle_each_iteration=False))


@contract
def shard_of():
    assert datasets.shard_of(ROWS.shard(3, 2)) == 2
    assert datasets.shard_of(ROWS) is None


TREES = [ast.parse(Path(it.__file__).read_text(encoding="utf-8")) for it in (private, datasets)]
NODES = [node for tree in TREES for node in tree.body]
IMPORTED = [it for node in NODES if isinstance(node, ast.ImportFrom) for it in node.names]
RENAMED = [node.targets[0].id for node in NODES if isinstance(node, ast.Assign)]
DEFINED = [node.name for node in NODES if isinstance(node, ast.FunctionDef | ast.ClassDef)]
LISTED = sorted([it.name for it in IMPORTED if it.asname] + RENAMED + DEFINED)


@pytest.mark.parametrize("name", LISTED)
def test_it_does_what_tfkit_needs(name, tmp_path):
    function = CONTRACTS[name]
    function(tmp_path / "saved") if function.__defaults__ else function()


def test_each_contract_is_of_a_name_that_is_listed():
    assert sorted(CONTRACTS) == LISTED


OF_TFKIT = {
    "_cast_when_read",
    "_tfkit_children",
    "_value_given",
}  # Called by classes of `borrowed`.
NAMED = [
    getattr(node, {ast.Attribute: "attr", ast.Constant: "value"}[type(node)])
    for tree in TREES
    for node in ast.walk(tree)
    if isinstance(node, ast.Attribute | ast.Constant)
]
# Attributes and methods of TensorFlow's objects that `borrowed` uses, and methods that it defines.
PRIVATE = {it for it in NAMED if isinstance(it, str) and re.fullmatch("_[a-z]\\w*", it)} - OF_TFKIT
OVERRIDDEN = {
    method.name
    for node in NODES
    if isinstance(node, ast.ClassDef)
    for method in node.body
    if isinstance(method, ast.FunctionDef) and method.name in PRIVATE
}
# Names of objects of tfkit, whose attributes may be called as some of TensorFlow's are.
OWN = {"self", "cls", "layer", "model"}


def private_uses(source):
    """Lists private modules, attributes and methods of TensorFlow in a source.

    An attribute is private if `borrowed` uses it, or if it begins with an underscore and is read from
    anything that an expression with `tf.` gives, such as a default graph.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from [node.module] if (node.module or "").startswith("tensorflow.") else []
        elif isinstance(node, ast.Import):
            yield from (it.name for it in node.names if it.name.startswith("tensorflow."))
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            is_of_tf = owner.partition(".")[0] == "tf" and re.match("_[^_]|__internal__", node.attr)
            if is_of_tf or (node.attr in PRIVATE and owner not in OWN):
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.ClassDef):
            methods = [it for it in node.body if isinstance(it, ast.FunctionDef)]
            yield from (f"{node.name}.{it.name}" for it in methods if it.name in OVERRIDDEN)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            reads = ast.unparse(node.func) in ("getattr", "hasattr", "setattr", "delattr")
            name = getattr(node.args[1], "value", None)
            if reads and name in PRIVATE and ast.unparse(node.args[0]) not in OWN:
                yield f"{ast.unparse(node.args[0])}.{name}"


def test_no_other_file_uses_private_tensorflow():
    found = {
        name: uses
        for path in SOURCES.rglob("*.py")
        if not (name := path.relative_to(SOURCES).as_posix()).startswith(APART)
        if (uses := list(private_uses(path.read_text(encoding="utf-8"))))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "from tensorflow.python.eager import context",
        "import tensorflow.core.framework.types_pb2",
        "tf.__internal__.FuncGraph('a')",
        "graph._functions.values()",
        "dataset._inputs()",
        "operation._set_attr('a', 1)",
        "getattr(variable, '_distribute_strategy', None)",
        "tf.compat.v1.get_default_graph()._no_name_that_borrowed_uses",
        "tf.distribute.get_strategy().extended._another",
        "class A(tf.Module):\n    def _trackable_children(self): ...",
    ],
)
def test_private_uses_are_found(source):
    assert list(private_uses(f"def f():\n    self._functions\n    tf.__version__\n{source}"))


def test_attributes_of_tfkit_and_public_names_are_not_private_uses():
    source = "self._functions, layer._trainable, tf.__version__, tf.Graph().name, x._asdict()"
    assert not list(private_uses(source))


def test_lines_of_tensorflow_are_dropped_and_those_of_a_notebook_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell, file = "<ipython-input-1>", inspect.getfile(tf.Module)
    monkeypatch.setitem(linecache.cache, cell, (4, None, ["x=1\n"], cell))
    source = inspect.getsource(tf.Module)
    assert file in linecache.cache
    tensorflow_alone._forget_sources()
    assert file not in linecache.cache
    assert linecache.getline(cell, 1) == "x=1\n"
    assert inspect.getsource(tf.Module) == source
