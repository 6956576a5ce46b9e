"""The base class of layers: state, and a computation that uses it."""

from __future__ import annotations

from typing import Any, Self

import tensorflow as tf

from tfkit.src.base import budget, execution, limits, recomputation
from tfkit.src.base.calls import CallFrame, current_frame
from tfkit.src.base.errors import forks, never_called, tracebacks
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import auto_name, check_name
from tfkit.src.base.protocols import open_signature
from tfkit.src.base.quoting import printable
from tfkit.src.base.registry import constructors, dtype_policies
from tfkit.src.base.registry.configuration import layer_config
from tfkit.src.base.registry.serialization import resolve
from tfkit.src.core import attributes, building, hidden, output_specs, tracking, weights
from tfkit.src.core.compiled import DirectCalls
from tfkit.src.core.copies import Copied
from tfkit.src.core.state import LayerState
from tfkit.src.core.stateful import Stateful
from tfkit.src.engine import apart
from tfkit.src.symbolic import masking, specs
from tfkit.src.symbolic.arguments import CallArguments, CallSignature, as_tensors, check_tensors
from tfkit.src.symbolic.input_spec import check_inputs
from tfkit.src.symbolic.operations import Operation
from tfkit.src.symbolic.tensors import Node, any_symbolic
from tfkit.src.weights.variables.together import computed_with


@Operation.register
class Layer(Copied, Stateful):
    """State (weights), and a transformation of inputs to outputs that uses it.

    A subclass makes its weights in `build(input_shape)` with `add_weight`, or its sublayers in
    `__init__`, and computes in `call`. The first call builds the layer. The arguments of the
    constructor are recorded, so that `get_config` needs no override.

    Args:
        activity_regularizer: function of the outputs whose value, divided by the batch size, is
            added to the loss; `None` for none.
        trainable: whether training changes the weights. Default: `True`.
        dtype: name of a dtype, or a dtype policy such as `"mixed_float16"`; `None` for the global
            policy.
        autocast: whether float inputs are cast to the compute dtype. Default: `True`.
        name: name of the layer, a string without `/`; `None` to make one from the class's name.
        **kwargs: `input_shape`, the inputs' shape without the batch, or `input_dim`, its only size;
            a `Sequential` model that starts with the layer is then built at once.

    Input shape: The shape of the argument of `call`, a tensor or a nest of tensors.

    Output shape: The shape of the result of `call`.

    Raises:
        ValueError: if an argument is unknown, or if `name` is not a string without `/`.

    Example:
        >>> class Linear(Layer):
        ...     def __init__(self, units=32):
        ...         super().__init__()
        ...         self.units = units
        ...
        ...     def build(self, input_shape):
        ...         self.w = self.add_weight(shape=(input_shape[-1], self.units))
        ...
        ...     def call(self, inputs):
        ...         return inputs @ self.w
        >>> Linear(4)(tf.ones((2, 3))).shape
        TensorShape([2, 4])
    """

    # A subclass may set these two for all its instances.
    input_spec: Any = None
    supports_masking = False
    _allow_non_tensor_positional_args = False
    __signature__ = constructors.ConstructorSignature()

    # --- Making a layer -----------------------------------------------------------------------------

    @shortened
    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Creates the layer and records the constructor's arguments for `get_config()`."""
        layer = super().__new__(cls)
        arguments = constructors.ConstructorArguments(cls, args, kwargs)
        object.__setattr__(layer, "_tfkit", LayerState(layer, arguments, tracking.tick()))
        return layer

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wraps a `build` that the subclass defines, so that it marks the layer as built.

        Warns of a method that Keras would call, and tfkit does not.
        """
        super().__init_subclass__(**kwargs)
        never_called.warn_of_methods(cls)
        if "build" in vars(cls):
            cls.build = building.build_once(cls.build)  # type: ignore[method-assign]

    @shortened
    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        input_dim = kwargs.pop("input_dim", None)
        input_shape = kwargs.pop("input_shape", None if input_dim is None else (input_dim,))
        if kwargs:
            raise constructors.unknown_arguments(type(self), kwargs)
        attributes.check_trainable(trainable)
        self._name = check_name(name) or auto_name(type(self).__name__)
        self._tfkit_auto_named = name is None
        self._trainable, self._dtype_policy = trainable, dtype_policies.get(dtype)
        self.autocast, self._tfkit_input_shape_argument = autocast, input_shape
        self.activity_regularizer = resolve(activity_regularizer, "regularizers")
        # A class that computes masks need not say that it supports them.
        if self._tfkit_overrides("compute_mask") and not self._tfkit_overrides("supports_masking"):
            self.supports_masking = True
        state = self._tfkit
        state.made_in = attributes.calling_layer()
        state.signature, state.direct = CallSignature(self.call), DirectCalls(state)
        state.initialized = True

    # --- Calling it ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if needed and calls it; a call on symbolic tensors is recorded.

        Args:
            *args: tensors, arrays, symbolic tensors, or nests of these.
            **kwargs: further arguments of `call`; `training` and masks reach the layers inside.
        """
        try:
            if forks.threads_are_lost:
                forks.check(f"A call of layer '{self.name}'")
            state = self._tfkit
            state.called_by(current_frame())
            state.check_initialized()
            if (trace := state.direct.repeated(args, kwargs)) and self._tfkit_runs_directly():
                return trace.run([*args], state)
            args, kwargs = self._tfkit_as_tensors(args, kwargs)
            if any_symbolic(args, kwargs):
                return self.symbolic_call(*args, **kwargs)
            if self._tfkit_runs_directly():
                return state.direct(args, kwargs)
            return self._tfkit_call_in_phases(args, kwargs)
        except BaseException as error:
            tracebacks.shorten(error)
            raise

    def _tfkit_call_in_phases(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the phases of a call in order, and returns the outputs."""
        budget.take_operations(limits.OPERATIONS_OF_CALL)
        arguments = self._tfkit.signature.bind(args, kwargs, self)
        check_inputs(self, arguments.first)
        with building.around_call(self), apart.in_trace(current_frame() is None):
            self._tfkit_build_once(arguments)
            with self._tfkit_frame(arguments) as frame:
                args, kwargs, mask = arguments.filled(frame.training)
                outputs = self._tfkit.computation(args, kwargs)(*args, **kwargs)
                self._tfkit_add_activity_loss(outputs)
                if frame.gives_mask:
                    masking.attach(self, arguments.takes_mask, arguments.first, outputs, mask)
            hidden.check_layers(self, frame.called, frame.parent)
        self._tfkit_note_call(arguments, outputs)
        return outputs

    def _tfkit_as_tensors(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with arrays converted to tensors, floats in the compute dtype."""
        dtype = self._tfkit_cast_dtype()
        args = tuple([as_tensors(arg, dtype) for arg in args])
        if not self._allow_non_tensor_positional_args:
            for arg in args:
                check_tensors(arg, self)
        return args, {name: as_tensors(value, dtype) for name, value in kwargs.items()}

    def _tfkit_cast_dtype(self) -> str | None:
        """Returns the dtype to which float arguments are cast; `None` if they are not changed."""
        return self.input_dtype if self.autocast else None

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Any:
        """Records a call on symbolic tensors, builds the layer, and returns the symbolic outputs.

        Example:
            >>> tfkit.layers.Dense(2).symbolic_call(tfkit.Input((3,))).shape
            (None, 2)
        """
        node = Node(self, args, kwargs, output_specs.of_call(self, args, kwargs))
        self._tfkit.nodes.append(node)
        return node.outputs

    def _tfkit_known_outputs(self, args: Any, kwargs: Any) -> Any:
        """Returns symbolic outputs that are known without a trace, or `None`."""
        return None

    def _tfkit_runs_directly(self) -> bool:
        """Whether this is an outermost call that runs eagerly, so that a compiled function may compute it."""
        return (
            current_frame() is None
            and tf.executing_eagerly()
            and not recomputation.is_under_way()
            and not execution.is_eager(self._tfkit.settings())
        )

    def _tfkit_build_once(self, arguments: CallArguments) -> None:
        """Calls `build` with the shapes of the arguments, the first time."""
        if not self._tfkit.built:
            self._tfkit.specs = specs.merged(self._tfkit.specs, arguments.specs())
            if self._tfkit_overrides("build"):
                shapes, named = building.shape_arguments(self, self.build, arguments)
                self.build(*shapes, **named)

    def _tfkit_note_call(self, arguments: CallArguments, outputs: Any) -> None:
        """Stores what files and exports need to know of a successful call."""
        state = self._tfkit
        if current_frame() is None:
            state.note_specs(arguments)
        if not state.built or state.output_shapes is None:
            state.output_shapes = specs.free_batch(outputs)
            state.locked = state.locked or not state.built
            state.built = True

    def _tfkit_frame(self, arguments: CallArguments) -> CallFrame:
        """Returns the frame of this call: its mode, and the dtype in which weights are read."""
        caller = current_frame()
        training = arguments.mode(caller.training if caller else None)
        frame = CallFrame(self, training, self.compute_dtype if self.autocast else None)
        hidden.begin_call(frame)
        return frame

    def _tfkit_add_activity_loss(self, outputs: Any) -> None:
        """Adds the activity regularizer's value, per sample."""
        if self.activity_regularizer is not None:
            for output in tf.nest.flatten(outputs):
                loss = self.activity_regularizer(output)
                batch_size = tf.shape(output)[0] if output.shape.rank else 1
                self.add_loss(tf.math.divide_no_nan(loss, tf.cast(batch_size, loss.dtype)))

    def _tfkit_overrides(self, method: str) -> bool:
        """Whether a subclass has replaced a method of `Layer`."""
        return getattr(type(self), method) is not getattr(Layer, method)

    # --- Methods of subclasses ----------------------------------------------------------------------

    @open_signature
    def build(self, input_shape: Any) -> None:
        """Makes the weights. Subclasses override it; the first call calls it with the inputs' shapes.

        Here, where it is not overridden, it builds the layers inside by tracing `call` on symbolic
        tensors.

        Args:
            input_shape: shape of the first argument of `call`, or a nest of shapes; a `build` with
                several arguments names them after the arguments of `call`: `query_shape`,
                `value_shape`. Here `None` only marks the layer as built.

        Example:
            >>> class Scale(tfkit.layers.Layer):
            ...     def build(self, input_shape):
            ...         self.scale = self.add_weight(shape=input_shape[-1:], initializer="ones")
            ...
            ...     def call(self, x):
            ...         return x * self.scale
            >>> layer = Scale()
            >>> layer.build((None, 3))
            >>> layer.scale.numpy()
            array([1., 1., 1.], dtype=float32)
        """
        if not self._tfkit_overrides("build") and not self._tfkit.built:
            output_specs.build_by_trace(self, input_shape)
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs from tensors. Subclasses override it.

        Example:
            >>> class Scale(tfkit.layers.Layer):
            ...     def call(self, x, training=False):
            ...         return 10 * x if training else x
            >>> Scale()(np.ones(2)).numpy(), Scale()(np.ones(2), training=True).numpy()
            (array([1., 1.], dtype=float32), array([10., 10.], dtype=float32))
        """
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call` method implemented. Define "
            "`def call(self, inputs): ...`."
        )

    @open_signature
    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Returns the outputs' mask, given the inputs and their mask: the same mask unless overridden.

        Example:
            >>> tfkit.layers.Activation("relu").compute_mask(
            ...     np.ones((1, 2)), np.array([[True, False]])
            ... )
            array([[ True, False]])
        """
        return previous_mask

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the layer's outputs for symbolic tensors, as symbolic tensors.

        If a subclass defines `compute_output_shape`, its result is used, and `call` is not run.

        Example:
            >>> tfkit.layers.Dense(2).compute_output_spec(tfkit.Input((3,))).shape
            (None, 2)
        """
        return output_specs.without_building(self, args, kwargs)

    @shortened
    def compute_output_shape(self, *input_shapes: Any, **named_shapes: Any) -> Any:
        """Returns the shape of the outputs for inputs of the given shape or nest of shapes.

        Example:
            >>> tfkit.layers.Conv2D(8, 3).compute_output_shape((None, 28, 28, 1))
            (None, 26, 26, 8)
        """
        return output_specs.shape_of(self, input_shapes, named_shapes)

    # --- State --------------------------------------------------------------------------------------

    def add_weight(
        self,
        *args: Any,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: str | None = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> tf.Variable:
        """Makes a weight of this layer.

        Args:
            *args: `shape`, `initializer` and `dtype` may be passed by position.
            shape: tuple of sizes; `None` for a scalar.
            initializer: name or `Initializer`; `None` for Glorot uniform for floats, zeros for others.
            dtype: dtype of the weight; `None` for the layer's `variable_dtype`.
            trainable: whether training updates it. Default: `True`.
            autocast: whether it is read in the compute dtype inside calls. Default: `True`.
            regularizer: function of the weight whose value is added to the loss; `None` for none.
            constraint: function that projects the weight after each update.
            aggregation: how replicas' values are combined: `"none"`, `"mean"`, `"sum"` or
                `"only_first_replica"`.
            overwrite_with_gradient: whether an update replaces the weight by its gradient.
            name: name of the weight; it need not be unique.

        Raises:
            ValueError: if a size in `shape`, or a name, is unknown.

        Example:
            >>> layer = tfkit.layers.Layer()
            >>> layer.shift = layer.add_weight(shape=(3,), initializer="zeros")
            >>> layer.num_calls = layer.add_weight(dtype="int64", trainable=False)
            >>> len(layer.trainable_weights), len(layer.non_trainable_weights)
            (1, 1)
        """
        self._tfkit.check_initialized()
        shape, initializer, dtype = weights.by_position(args, shape, initializer, dtype)
        weight: Any = weights.add(
            self,
            name or "variable",
            shape,
            initializer,
            dtype or self.variable_dtype,
            autocast,
            trainable=trainable,
            constraint=resolve(constraint, "constraints"),
            aggregation=aggregation,
            regularizer=resolve(regularizer, "regularizers"),
            overwrite_with_gradient=overwrite_with_gradient,
        )
        if trainable and not self._trainable:
            weight.trainable = False
        return weight

    def add_loss(self, loss: Any) -> None:
        """Adds losses to the ones that training minimizes, a tensor by its sum; to be used inside `call`.

        Example:
            >>> class Penalty(tfkit.layers.Layer):
            ...     def call(self, x):
            ...         self.add_loss(0.5 * tf.reduce_sum(x**2))
            ...         return x
            >>> layer = Penalty()
            >>> _ = layer(np.array([1.0, 3.0]))
            >>> float(layer.losses[0])
            5.0
        """
        recomputation.add_losses(self._tfkit, recomputation.summed(loss))

    @property
    def losses(self) -> list[tf.Tensor]:
        """The values passed to `add_loss` in the latest call, sublayers included, and weights' penalties."""
        return self._tfkit.all_losses()

    @shortened
    def stateless_call(
        self,
        trainable_variables: Any,
        non_trainable_variables: Any,
        *args: Any,
        return_losses: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Calls the layer with the given values of its variables, and changes none of them.

        Args:
            trainable_variables: values of `trainable_variables`.
            non_trainable_variables: values of `non_trainable_variables`.
            *args: arguments of the call.
            return_losses: whether to return the losses as well. Default: `False`.
            **kwargs: keyword arguments of the call.

        Returns:
            The outputs and the new values of `non_trainable_variables` (and the losses).

        Example:
            >>> layer = tfkit.layers.Dense(1, use_bias=False)
            >>> layer.build((None, 2))
            >>> outputs, state = layer.stateless_call(
            ...     [np.array([[1.0], [2.0]])], [], np.ones((1, 2))
            ... )
            >>> float(outputs[0, 0])
            3.0
        """
        if not self.built:
            raise ValueError(
                f"To call `stateless_call`, layer '{self.path}' must be built. Call it on some data first."
            )

        def compute() -> dict[str, Any]:
            results = {"outputs": hidden.called_with_values(self, *args, **kwargs)}
            return {**results, "losses": self.losses} if return_losses else results

        results = computed_with(self, compute, trainable_variables, non_trainable_variables)
        return tuple(results[name] for name in ("outputs", "state", "losses") if name in results)

    # --- Properties ---------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The names of the calling layers from the outermost to this one: `encoder/dense_proj`."""
        return self._tfkit.path

    @property
    def built(self) -> bool:
        """Whether the weights exist; always true for a class that has none."""
        at_once = self._tfkit_built_at_once and not self._tfkit_overrides("build")
        return self._tfkit.built or at_once

    @built.setter
    def built(self, value: bool) -> None:
        self._tfkit.built = bool(value)

    @property
    def dtype_policy(self) -> dtype_policies.DTypePolicy:
        """The dtypes of computations and weights."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        self._dtype_policy = dtype_policies.get(value)

    @property
    def dtype(self) -> str:
        """The dtype of the weights."""
        return self._dtype_policy.of(self).variable_dtype

    variable_dtype = dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype of computations."""
        return self._dtype_policy.of(self).compute_dtype

    @property
    def input_dtype(self) -> str:
        """The dtype that float inputs are cast to."""
        return self.compute_dtype

    @property
    def input(self) -> Any:
        """The symbolic inputs of the first recorded call."""
        return self._tfkit.first_node.inputs

    @property
    def output(self) -> Any:
        """The symbolic outputs of the first recorded call."""
        return self._tfkit.first_node.outputs

    @property
    def _inbound_nodes(self) -> list[Node]:
        """The recorded calls on symbolic tensors, under the name that programs for Keras use."""
        return self._tfkit.nodes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={printable(self.name)}, built={self.built}>"

    # --- Configuration ------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments as data, recorded when the layer was made.

        An override that starts from `super().get_config()` gets the name, `trainable` and `dtype`, and
        the arguments of the built-in class that it extends, and adds its own.

        Raises:
            TypeError: that names the argument that cannot be saved.

        Example:
            >>> config = tfkit.layers.Dense(2, activation="relu", name="hidden").get_config()
            >>> config["name"], config["units"], config["activation"]
            ('hidden', 2, 'relu')
        """
        return layer_config(self, self._tfkit.arguments, Layer)

    @classmethod
    @shortened
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a new layer with the arguments that `config` holds.

        Example:
            >>> config = tfkit.layers.Dense(2, activation="relu").get_config()
            >>> tfkit.layers.Dense.from_config(config).units
            2
        """
        return constructors.made_from(cls, dtype_policies.constructor_arguments(config))

    def get_build_config(self) -> dict[str, Any] | None:
        """Returns the config with which `build_from_config` makes the weights again, without data.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> layer.get_build_config()
            {'input_shape': (None, 3)}
        """
        return building.build_config(self)

    @shortened
    def build_from_config(self, config: dict[str, Any]) -> None:
        """Makes the weights from the result of `get_build_config`.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build_from_config({"input_shape": (None, 3)})
            >>> layer.kernel.shape
            TensorShape([3, 2])
        """
        building.build_from_config(self, config or {})
