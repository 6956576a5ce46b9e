"""The class `Model`: a layer that can be trained, saved and exported."""

from __future__ import annotations

import abc
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import tensorflow as tf

from tfkit.src import export  # What it lists is imported late.
from tfkit.src.base.calls import CallFrame, current_frame
from tfkit.src.base.context import Lock
from tfkit.src.base.errors import frames
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import did_you_mean, explain_missing
from tfkit.src.base.protocols import open_signature
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.configuration import accepted, is_ours, owner_of, require_all
from tfkit.src.base.registry.constructors import given, unknown_arguments
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer

# What these two list is imported late.
from tfkit.src.files import interop, saving
from tfkit.src.files.saving.matching import LoadReport, Rename
from tfkit.src.symbolic import masking
from tfkit.src.symbolic.input_spec import ADD_BATCH, InputSpec
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.cache import Programs
from tfkit.src.training.compile_settings import CompileSettings
from tfkit.src.training.models import state_tree as state_trees
from tfkit.src.training.models.graph import Graph, graph_between, operation_names, operations_of
from tfkit.src.training.models.graph_config import graph_from_config, graph_to_config
from tfkit.src.training.models.input_forms import match_form, path_of
from tfkit.src.training.models.layer_list import LayerList, local_names
from tfkit.src.training.models.quantization import QuantizesLayers
from tfkit.src.training.models.summary import html_summary, print_summary
from tfkit.src.training.trainer import Trainer

# A trace of a graph with fewer calls takes little time.
_LARGE = 200


@explain_missing
class Model(QuantizesLayers, Trainer):  # type: ignore[misc]  # `Layer.quantize` takes no filters.
    """A layer with training, evaluation, prediction, saving and export.

    There are three ways to make one. A subclass makes layers in `__init__` and uses them in `call`.
    `Model(inputs, outputs)` accepts symbolic tensors and returns a functional model, which calls the
    layers between them. `Sequential` accepts a list of layers. Before `fit` and `evaluate`, `compile`
    sets the optimizer, the loss and the metrics.

    Args:
        inputs: symbolic tensor of `Input`, or a nest of them; for a functional model.
        outputs: symbolic tensor that is computed from `inputs`, or a nest of them; for a functional
            model.
        **kwargs: `name`, `trainable`, `dtype`, `autocast` and `activity_regularizer`, as described
            in `Layer`.

    Input shape: That of `inputs`, or of the argument of `call`.

    Output shape: That of `outputs`, or of the result of `call`.

    Example:
        >>> x = tfkit.Input(shape=(4,))
        >>> model = Model(x, tf.nn.relu(x))
        >>> model(tf.constant([[-1.0, 0.0, 1.0, 2.0]])).numpy()
        array([[0., 0., 1., 2.]], dtype=float32)
        >>> class Doubled(Model):
        ...     def call(self, inputs):
        ...         return 2 * inputs
        >>> Doubled()(tf.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
    """

    _tfkit_graph: Graph | None = None
    _tfkit_is_stack = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Creates a model; `Model(inputs, outputs)` creates a `Functional` model."""
        # Also by their old names, about which the base class raises an error.
        if cls is Model and (args or kwargs.keys() & {"inputs", "outputs", "input", "output"}):
            cls = Functional  # type: ignore[assignment]
        model = super().__new__(cls, *args, **kwargs)
        # Not tracked: the settings refer to the optimizer and to losses, which are not members of
        # the model.
        object.__setattr__(model, "_tfkit_settings", CompileSettings.of(model))
        return model

    @shortened
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inputs = kwargs.pop("inputs", args[0] if args else None)
        outputs = kwargs.pop("outputs", args[1] if len(args) > 1 else None)
        _refuse_old_names(self, kwargs)
        if (inputs is None) != (outputs is None) or len(args) > 3:
            raise ValueError(
                "A functional model needs both `inputs` and `outputs`. "
                f"Received: inputs={inputs}, outputs={outputs}"
            )
        if len(args) > 2:
            kwargs["name"] = args[2]
        super().__init__(**kwargs)
        self._tfkit_programs = Programs(self._tfkit_settings)
        self._tfkit_in_turn = Lock()
        if inputs is not None:
            _begin_with(self, graph_between(inputs, outputs))

    # --- The graph of layers ------------------------------------------------------------------------

    def _tfkit_set_graph(self, graph: Graph) -> None:
        """Sets the graph that the model computes."""
        self._tfkit_graph = graph
        last: list[Any] = [tensor.node for tensor in graph.flat_outputs]
        if all(isinstance(node.operation, Layer) for node in last):
            self.output_names = [node.operation.name for node in last]
        else:
            names = operation_names(graph)
            self.output_names = [names[id(node)] for node in last]
        self.input_spec = _input_specs(graph.inputs)
        self.supports_masking = True
        self.built = True

    @open_signature
    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Runs the layers between inputs and outputs; subclasses without a graph override it.

        Example:
            >>> class Residual(tfkit.Model):
            ...     def __init__(self):
            ...         super().__init__()
            ...         self.dense = tfkit.layers.Dense(2, kernel_initializer="zeros")
            ...
            ...     def call(self, inputs):
            ...         return inputs + self.dense(inputs)
            >>> Residual()(np.ones((1, 2))).numpy()
            array([[1., 1.]], dtype=float32)
        """
        frame = current_frame()
        # A subclass's `call` may call `super().call(x, training=False)`: layers must see this
        # mode.
        if training is not None and (frame is None or frame.layer is not self):
            with CallFrame(self, training):  # `call` alone: layers get the mode from the context.
                return self.call(inputs, mask=mask)
        if self._tfkit_graph is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} does not have a `call` method implemented. Define "
                "`def call(self, inputs): ...`, or pass `inputs` and `outputs`."
            )
        if mask is not None:
            for tensor, tensor_mask in zip(
                tf.nest.flatten(inputs), tf.nest.flatten(mask), strict=True
            ):
                masking.set_mask(tensor, tensor_mask)
        outputs = self._tfkit_graph.run(self._tfkit_match_inputs(inputs))
        # A list of one output is unpacked, as in Keras.
        is_single = isinstance(outputs, (list, tuple)) and len(outputs) == 1
        return outputs[0] if is_single else outputs

    def _tfkit_cast_dtype(self) -> str | None:
        """Returns the common dtype of float arguments; `None` if they get the dtypes of the `Input`s."""
        return None if self._tfkit_has_own_floats() else super()._tfkit_cast_dtype()

    def _tfkit_has_own_floats(self) -> bool:
        """Whether floats are passed on in the dtypes of the `Input`s, not in the compute dtype."""
        return self._tfkit_graph is not None and self._tfkit_graph.own_floats(self.compute_dtype)

    def _tfkit_known_outputs(self, args: Any, kwargs: Any) -> Any:
        """Returns the outputs of a large graph that is called on tensors like its own inputs.

        A trace of models that call models twice would double its time at each level.
        """
        graph = self._tfkit_graph
        is_plain = is_ours(owner_of(type(self), "call"))
        if graph is None or graph.num_calls < _LARGE or not is_plain or len(args) != 1:
            return None
        if self.activity_regularizer is not None or any(v is not None for v in kwargs.values()):
            return None
        try:
            inputs = match_form(args[0], graph.inputs, self.name)
        except (TypeError, ValueError):
            return None
        return graph.outputs_like(inputs)

    def _tfkit_match_inputs(self, inputs: Any) -> Any:
        """Returns the inputs with the structure, dtype and number of axes of the graph's inputs."""
        assert self._tfkit_graph is not None
        given = match_form(inputs, self._tfkit_graph.inputs, self.name)
        expected, keep = self._tfkit_graph.flat_inputs, not self._tfkit_has_own_floats()
        pairs = zip(given, expected, strict=True)
        return [_fit(value, tensor, self._tfkit_graph.inputs, keep) for value, tensor in pairs]

    def _tfkit_entries(self) -> list[KerasTensor]:
        """Returns the symbolic inputs; none if the model has no graph."""
        return [] if self._tfkit_graph is None else self._tfkit_graph.flat_inputs

    @property
    def inputs(self) -> Any:
        """The symbolic inputs of a functional model, as a list."""
        return None if self._tfkit_graph is None else self._tfkit_graph.flat_inputs

    @property
    def outputs(self) -> Any:
        """The symbolic outputs of a functional model, as a list."""
        return None if self._tfkit_graph is None else self._tfkit_graph.flat_outputs

    @property
    def input(self) -> Any:
        """The symbolic inputs of a functional model, in the form that they were given in."""
        return super().input if self._tfkit_graph is None else self._tfkit_graph.inputs

    @property
    def output(self) -> Any:
        """The symbolic outputs of a functional model, in the form that they were given in."""
        return super().output if self._tfkit_graph is None else self._tfkit_graph.outputs

    @property
    def input_shape(self) -> Any:
        """The shape of the input of a functional model; a list of shapes if there are several."""
        return _shapes(self.input, self.inputs)

    @property
    def output_shape(self) -> Any:
        """The shape of the output of a functional model; a list of shapes if there are several."""
        return _shapes(self.output, self.outputs)

    # --- Layers -------------------------------------------------------------------------------------

    @property
    def operations(self) -> list[Any]:
        """The layers and functions that a functional model calls, in order, including its inputs."""
        return self.layers if self._tfkit_graph is None else operations_of(self._tfkit_graph)

    def _tfkit_graph_layers(self) -> list[Layer]:
        return [] if self._tfkit_graph is None else self._tfkit_graph.layers

    def _tfkit_members(self) -> list[tuple[str, Any]]:
        """Returns the layers of the graph by their own names, followed by the members in attributes."""
        graph = local_names(self._tfkit_graph_layers())
        known = {id(layer) for _, layer in graph}
        # A layer of the graph may be an attribute as well: its one path is the path in the graph.
        return graph + [entry for entry in tracking.members_of(self) if id(entry[1]) not in known]

    @property
    def layers(self) -> list[Layer]:
        """The layers that a functional model calls; those in the attributes of any other model."""
        graph = self._tfkit_graph
        return LayerList(tracking.sublayers(self) if graph is None else graph.layers)

    @layers.setter
    def layers(self, _: Any) -> None:
        raise AttributeError(
            "`Model.layers` attribute is reserved: it lists what is in the other attributes. Keep your "
            "layers under another name."
        )

    @shortened
    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Returns the layer inside with this name, or at this index of `layers`.

        Args:
            name: name of the layer; `None` to choose by the index.
            index: index of the layer, from 0; `None` to choose by the name.

        Returns:
            The layer.

        Raises:
            ValueError: if there is no such layer, or unless exactly one of `name` and `index` is
                given.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.get_layer("scores").units, model.get_layer(index=0).units
            (2, 2)
        """
        if (name is None) == (index is None):
            raise ValueError(
                f"Provide either a layer name or a layer index. Received: {name=}, {index=}"
            )
        if index is not None:
            if not -len(self.layers) <= index < len(self.layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        names = [layer.name for layer in self.layers]
        raise ValueError(
            f"No such layer: {name}. Existing layers are: {names}.{did_you_mean(name, names)}"
        )

    @shortened
    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Prints a table of the layers, their output shapes and numbers of parameters.

        Args:
            line_length: width of the table in characters; `None` for the width of the terminal.
            positions: list of the ends of the columns, one number for each: parts of the line, up
                to 1, or numbers of characters. `None` for columns as wide as their contents.
            print_fn: function that gets the text as a string; `None` to print it.
            expand_nested: whether layers inside nested models get their own lines. Default:
                `False`.
            show_trainable: whether to show which layers are trained. Default: `False`.
            layer_range: names of the first and the last layer to show, or patterns that match their
                beginnings; `None` for all layers.

        Raises:
            ValueError: if `positions` or `layer_range` does not fit the model.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> lines = []
            >>> model.summary(print_fn=lines.append)
            >>> [line for line in lines[0].splitlines() if "params" in line][0]
            ' Total params: 8 (32.00 B)'
        """
        print_summary(self, **given(locals()))

    def _repr_html_(self) -> str:
        """Returns the table of `summary()`, for notebooks."""
        return html_summary(self)

    # --- Files --------------------------------------------------------------------------------------

    @shortened
    def save(self, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
        """Writes configuration, weights and optimizer state to one file, completely or not at all.

        Args:
            filepath: path that ends in `.h5`, or in `.keras` for a file that Keras loads; of a folder
                with `zipped=False`.
            overwrite: whether an existing file is replaced. Default: `True`.
            **kwargs: `include_optimizer=False` leaves out the optimizer's state; arguments that
                Keras has, as described in `tfkit.saving.save_model`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save(f"{folder}/model.h5")
            ...     loaded = tfkit.models.load_model(f"{folder}/model.h5")
            >>> bool(np.all(loaded.predict(np.ones((1, 3)), verbose=0) == model(np.ones((1, 3)))))
            True
        """
        interop.save_model(self, filepath, overwrite, **kwargs)

    @shortened
    def save_weights(
        self,
        filepath: Any,
        overwrite: bool = True,
        max_shard_size: float | None = None,
        *,
        objects_to_skip: Iterable[Any] | None = None,
    ) -> None:
        """Writes the weights to a file, completely or not at all.

        Args:
            filepath: path that ends in `.weights.h5`; with `max_shard_size`, in `.weights.json`; or
                in `.safetensors`, for other libraries.
            overwrite: whether an existing file is replaced. Default: `True`.
            max_shard_size: greatest size of a file in GB (2^30 bytes); the weights go into as many
                files as are needed. `None` for one file.
            objects_to_skip: layers, with everything inside them, and weights that the file leaves
                out; `None` for none.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save_weights(f"{folder}/model.weights.h5")
            ...     print(len(model.load_weights(f"{folder}/model.weights.h5").loaded))
            2
        """
        saving.save_weights(
            self, filepath, overwrite, max_shard_size, objects_to_skip=objects_to_skip
        )

    @shortened
    def load_weights(
        self,
        filepath: Any,
        skip_mismatch: bool = False,
        by_name: bool = False,
        rename: Rename | None = None,
        *,
        objects_to_skip: Iterable[Any] | None = None,
        **kwargs: Any,
    ) -> LoadReport:
        """Reads weights by attribute path: all of them, or an error that lists the mismatches.

        Args:
            filepath: path of a file of `save_weights` or `save`, of tfkit or of Keras; or of a
                `.safetensors` file of any library, where dots in names count as slashes.
            skip_mismatch: whether weights that do not fit are not changed. Default: `False`.
            by_name: whether weights are found by the names that were given to layers, and not by
                path. Default: `False`.
            rename: dict from beginnings of paths in the file to those in the model, or a function
                of a path, for values with a different path in the file; `None` for equal paths.
            objects_to_skip: layers, with everything inside them, and weights that are left as they
                are; `None` for none.
            **kwargs: none; others are refused.

        Returns:
            A `LoadReport`: the result for each weight.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> older = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="outputs")])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     older.save_weights(f"{folder}/older.weights.h5")
            ...     model.load_weights(
            ...         f"{folder}/older.weights.h5", rename={"outputs": "scores"}
            ...     ).loaded
            ['scores/kernel', 'scores/bias']
        """
        if kwargs:
            raise ValueError(f"Invalid keyword arguments: {kwargs}")
        return interop.load_weights(
            self, filepath, skip_mismatch, by_name, rename, objects_to_skip=objects_to_skip
        )

    @shortened
    def export(
        self,
        filepath: Any,
        format: str | None = None,
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Writes the model for inference, completely or not at all, as a SavedModel or in a different format.

        Args:
            filepath: folder of the SavedModel, or file of a different format: `.onnx`, `.tflite` (LiteRT),
                `.xml` (OpenVINO), `.pt2` (PyTorch), `.mlir` (StableHLO).
            format: `"tf_saved_model"`, `"stablehlo"`, `"litert"` (or `"tflite"`), `"onnx"`, `"openvino"` or
                `"torch"`. Default: that of the extension of `filepath`; a format that the extension
                contradicts is refused.
            verbose: whether to print a summary of the export; `None` is True.
            input_signature: specs to use instead of those of earlier calls.
            **kwargs: options of the format: `jit_compile` and `freeze` of a SavedModel, attributes of
                `tf.lite.TFLiteConverter` of LiteRT, `opset_version` of ONNX, `verify` of `"openvino"`
                and `"torch"`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.export(f"{folder}/model", verbose=False)
            ...     served = tf.saved_model.load(f"{folder}/model")
            >>> served.serve(np.ones((1, 3), "float32")).shape
            TensorShape([1, 2])
        """
        export.export(self, filepath, format, verbose, input_signature, **kwargs)

    def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]:
        """Returns the members, and for `tf.saved_model.save` a signature."""
        children = super()._tfkit_children(children, save_type)
        return children if save_type == "checkpoint" else children | export.default_signature(self)

    def get_compile_config(self) -> dict[str, Any] | None:
        """Returns the arguments of `compile`, as data; `None` before `compile`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.compile("adam", loss="mse")
            >>> model.get_compile_config()["loss"]
            'mse'
        """
        return serialize_keras_object(self._tfkit_settings.arguments()) if self.compiled else None

    @shortened
    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles the model with the result of `get_compile_config`.

        Your own `compile` with other arguments is not called, with a warning.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.compile("adam", loss="mse")
            >>> copy = tfkit.models.clone_model(model)
            >>> copy.compile_from_config(model.get_compile_config())
            >>> copy.loss
            'mse'
        """
        self._tfkit_compile_as(deserialize_keras_object(config))

    def _tfkit_compile_as(self, arguments: dict[str, Any]) -> None:
        """Calls `compile` with the arguments of another model, as far as it accepts them."""
        try:
            inspect.signature(self.compile).bind(**arguments)
        except TypeError as error:
            frames.warn(
                f"Model '{self.name}' is not compiled, and its optimizer's state is not loaded: its own "
                f"`compile()` cannot be called with what `get_compile_config()` gave ({error}). Override "
                "`get_compile_config()` and `compile_from_config()`, or call `compile()` yourself."
            )
            return
        self.compile(**arguments)

    # --- Variables as a nest ------------------------------------------------------------------------

    def get_state_tree(self, value_format: str = "backend_tensor") -> dict[str, Any]:
        """Returns the variables of the model, its optimizer and its metrics in nested dicts, by path.

        Args:
            value_format: `"backend_tensor"` for the variables themselves, `"numpy_array"` for copies of their
                values.

        Returns:
            A dict with `"trainable_variables"`, `"non_trainable_variables"`, `"optimizer_variables"` and
            `"metrics_variables"`; below them a dict for each step of a variable's path.

        Raises:
            ValueError: for any other `value_format`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> tree = model.get_state_tree(value_format="numpy_array")
            >>> {name: array.shape for name, array in tree["trainable_variables"]["scores"].items()}
            {'kernel': (3, 2), 'bias': (2,)}
        """
        return state_trees.get(self, value_format)

    def set_state_tree(self, state_tree: dict[str, Any]) -> None:
        """Sets the variables that have values in a nest like `get_state_tree`'s; others keep theirs.

        Raises:
            ValueError: for a path that the model does not have, and for a value of a different shape. No
                variable has changed then.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> tree = model.get_state_tree(value_format="numpy_array")
            >>> tree["trainable_variables"]["scores"]["bias"] += 1
            >>> model.set_state_tree(tree)
            >>> model.get_layer("scores").bias.numpy()
            array([1., 1.], dtype=float32)
        """
        state_trees.assign(self, state_tree)

    # --- Configuration ------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the layers and calls of a functional model; the recorded arguments of any other.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> [layer["class_name"] for layer in model.get_config()["layers"]]
            ['InputLayer', 'Dense']
        """
        graph, own = self._tfkit_graph, (Model.__init__, Functional.__init__)
        if graph is None or type(self).__init__ not in own:
            config = super().get_config()
            if type(self).get_config is Model.get_config:
                known = self._tfkit.arguments
                config = accepted(self, known, config)
                require_all(self, known, config)
            return config
        return {"name": self.name, "trainable": self.trainable, **graph_to_config(graph)}

    @classmethod
    @shortened
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Returns a new model with the layers and arguments of a configuration.

        Args:
            config: the result of `get_config`.
            custom_objects: your own classes and functions that it may name, by name.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> copy = tfkit.Sequential.from_config(model.get_config())
            >>> copy.get_layer("scores").units
            2
        """
        if custom_objects:
            with registry.custom_object_scope(custom_objects):
                return cls.from_config(config)
        if "input_layers" not in config:
            return super().from_config(config)
        config = interop.graph_from_keras(config)
        inputs, outputs = graph_from_config(config)
        model = cls(inputs, outputs, name=config.get("name"))
        if config.get("trainable") is False:
            freeze_alone(model)
        return model

    @shortened
    def to_json(self, **kwargs: Any) -> str:
        """Returns the configuration as JSON; keyword arguments are passed to `json.dumps`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> tfkit.models.model_from_json(model.to_json()).output_shape
            (None, 2)
        """
        return json.dumps(serialize_keras_object(self), **kwargs)


def _shapes(tensors: Any, flat: list[KerasTensor] | None) -> Any:
    if flat is None:
        return tf.nest.map_structure(lambda tensor: tensor.shape, tensors)
    shapes = [tensor.shape for tensor in flat]
    return shapes[0] if len(shapes) == 1 else shapes


class _IsDescribed(abc.ABCMeta):
    """The metaclass by which `isinstance(model, Functional)` is true for any `Model` made from a graph."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        # In Keras a subclass of `Model` with inputs and outputs is a `Functional`, too.
        described = isinstance(instance, Model) and instance._tfkit_graph is not None
        return cls is Functional and described and not instance._tfkit_is_stack


class Functional(Model, metaclass=_IsDescribed):
    """A model defined by its symbolic inputs and outputs, as `Model(inputs, outputs)` makes it.

    A call runs the layers between inputs and outputs. Layers are found in `layers` and by
    `get_layer()`.

    Args:
        inputs: symbolic tensor of `Input`, or a nest of them.
        outputs: symbolic tensor that is computed from `inputs`, or a nest of them.
        name: name of the model; `None` for a default name.
        **kwargs: arguments of every layer, with their defaults: `trainable`, whether training
            changes the weights (`True`); `dtype`, a dtype or a dtype policy (`None`, the global
            policy).

    Input shape: That of `inputs`, in the same form.

    Output shape: That of `outputs`, in the same form.

    Raises:
        ValueError: if `outputs` depend on an `Input` that is not among `inputs`.

    Example:
        >>> x = tfkit.Input(shape=(4,))
        >>> model = Functional(x, tfkit.layers.Dense(2)(x))
        >>> model.output_shape
        (None, 2)
    """

    @shortened
    def __init__(
        self, inputs: Any = None, outputs: Any = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(inputs, outputs, name=name, **kwargs)


def _refuse_old_names(model: Model, given: dict[str, Any]) -> None:
    """Raises an error for `Model(input=..., output=...)`."""
    old = {name: value for name, value in given.items() if name in ("input", "output")}
    if old and isinstance(model, Functional):
        raise unknown_arguments(Functional, old)


def freeze_alone(model: Model) -> None:
    """Freezes a model that is made from its configuration, whose layers have their own `trainable` flags."""
    model._trainable = False
    for layer in model.layers:
        layer._tfkit.thawed = layer.trainable


def _begin_with(model: Model, graph: Graph) -> None:
    """Sets the graph of a new functional model; a `build` of a subclass may make further weights."""
    model._tfkit_set_graph(graph)
    if not model._trainable:
        model.trainable = False  # Of the layers, too.
    if not is_ours(owner_of(type(model), "build")):
        model.build(None)  # As in Keras.


def _input_specs(inputs: Any) -> Any:
    """Returns the spec of each input; data in a dict has the keys of `inputs`, or else the inputs' names."""
    if isinstance(inputs, Mapping):
        return {
            key: _input_spec(value, key)
            if isinstance(value, KerasTensor)
            else tf.nest.map_structure(_input_spec, value)
            for key, value in inputs.items()
        }
    named = isinstance(inputs, KerasTensor) or all(isinstance(t, KerasTensor) for t in inputs)
    return tf.nest.map_structure(lambda t: _input_spec(t, t.name if named else None), inputs)


def _input_spec(tensor: Any, name: str | None = None) -> InputSpec:
    return InputSpec(
        # Any batch size, whatever the `Input` was given.
        shape=(None, *tensor.shape[1:]),
        allow_last_axis_squeeze=True,
        name=name,
        optional=tensor.node.operation.optional,
    )


def _fit(value: Any, expected: Any, inputs: Any, keep_floats: bool) -> Any:
    """Returns `value` in the dtype of an input, with a last axis of size 1 added or removed as needed.

    Args:
        value: the value.
        expected: the symbolic input.
        inputs: the nest of inputs that `expected` is in.
        keep_floats: whether floats have the right dtype already, the compute dtype of the model.
    """
    if not isinstance(value, tf.Tensor):
        return value
    mask = masking.get_mask(value)
    rank, wanted = value.shape.rank, len(expected.shape)
    result = value
    # A sample alone, of which an image of one channel may lack the last axis, too.
    is_sample = rank is not None and any(
        shape.is_compatible_with(expected.shape[1:]) for shape in (value.shape, value.shape + [1])
    )
    may_grow = rank == wanted - 1 and expected.shape[-1] == 1
    if may_grow and not (is_sample and not (value.shape + [1]).is_compatible_with(expected.shape)):
        # As Keras does: data of one column often has no axis for it.
        result = tf.expand_dims(result, -1)
    elif rank is not None and rank == wanted + 1 and value.shape[-1] == 1:
        result = tf.squeeze(result, -1)
    elif rank not in (wanted, None):
        raise ValueError(
            f"Invalid input shape for the input with name '{expected.name}' and path "
            f"'{path_of(expected, inputs)}'. Expected shape {expected.shape}. Received: a tensor of shape "
            f"{tuple(value.shape)}. The first axis is the batch, which `Input(shape=...)` does not "
            f"name.{f' {ADD_BATCH}' if is_sample else ''}"
        )
    if (result.dtype == tf.string) != (expected.dtype == "string"):
        raise ValueError(
            f"Input '{expected.name}' of a model expects {expected.dtype} values. Received: a tensor of "
            f"dtype {result.dtype.name} and shape {tuple(value.shape)}. Convert it first, or make the "
            f"input with `Input(..., dtype='{result.dtype.name}')`."
        )
    keep = keep_floats and result.dtype.is_floating
    if result.dtype.name != expected.dtype and not keep:
        result = tf.cast(result, expected.dtype)
    if result is not value:
        masking.set_mask(result, mask)
    return result
