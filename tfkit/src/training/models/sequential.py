"""`Sequential`: a stack of layers, each of which is called on the output of the one before."""

from __future__ import annotations

import inspect
from typing import Any, Self

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.calls import CallFrame
from tfkit.src.base.errors import other_keras
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import auto_name
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.core import building, tracking
from tfkit.src.core.layer import Layer
from tfkit.src.layers.input_layer import InputLayer
from tfkit.src.symbolic.arguments import CallArguments
from tfkit.src.symbolic.specs import is_shape
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.graph import Graph
from tfkit.src.training.models.layer_list import LayerList, local_names
from tfkit.src.training.models.model import Model, freeze_alone

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Sequential(Model):
    """A stack of layers, each of which is called on the output of the one before.

    Args:
        layers: list of layers; `None` for an empty stack, to which `add()` adds. With an `Input` as
            the first one, the weights are made at once, otherwise by the first call.
        trainable: whether training changes the weights. Default: `True`.
        name: name of the model; `None` for a default name.
        **kwargs: `dtype`, as described in `Layer`.

    Input shape: That of the first layer.

    Output shape: That of the last layer.

    Raises:
        ValueError: if something in `layers` is not a layer, or if two layers have the same name. One layer
            may be in the list several times: it has its weights once.

    Example:
        >>> dense = tfkit.layers.Dense(2, activation="relu")
        >>> model = Sequential([tfkit.Input(shape=(3,)), dense, tfkit.layers.Dense(1)])
        >>> model.output_shape
        (None, 1)
        >>> len(model.weights)
        4
    """

    _tfkit_is_stack = True
    _tfkit_stack: list[Layer]

    @shortened
    def __init__(
        self, layers: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        if isinstance(trainable, Layer):
            raise ValueError(
                "A Sequential model takes its layers as one list: `Sequential([first, second])`. "
                f"Received: several arguments, the second of which is {trainable!r}"
            )
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.supports_masking = True
        self._tfkit_set("_tfkit_stack", [])
        self._tfkit_why_untraced = ""
        self._tfkit_begin_with(
            layers if isinstance(layers, (list, tuple)) else [layers] if layers else []
        )
        if not trainable:
            self.trainable = False  # Of the layers, too.

    @shortened
    def add(self, layer: Layer | KerasTensor, rebuild: bool = True) -> None:
        """Adds a layer on top.

        Raises:
            ValueError: for something that is not a layer, and for a name that is already used.

        Example:
            >>> model = tfkit.Sequential()
            >>> model.add(tfkit.Input((3,)))
            >>> model.add(tfkit.layers.Dense(2))
            >>> model.output_shape
            (None, 2)
        """
        del rebuild  # Keras's switch to build later; here each layer is built once when added.
        self._tfkit_add_all([layer])

    def _tfkit_begin_with(self, layers: Any) -> None:
        """Adds the first layers, with a subclass's `add` if it has one."""
        if type(self).add is Sequential.add:
            self._tfkit_add_all(layers)
        else:
            for layer in layers:
                self.add(layer)

    def _tfkit_add_all(self, layers: Any) -> None:
        """Adds layers on top, all or none: one at a time, each would take as long as all below it."""
        stack = list(self._tfkit_stack)
        names = {layer._name for layer in stack}
        for layer in layers:
            added = self._tfkit_accepted(layer, names, stack)
            names |= {each.name for each in added}
            stack += added
        if len(stack) > len(self._tfkit_stack):
            self._tfkit_set_stack(stack)

    def _tfkit_accepted(
        self, layer: Layer | KerasTensor, names: set[str], below: list[Layer]
    ) -> list[Layer]:
        """Returns a layer to add on top of the others, whose names are given; the first with its input."""
        if isinstance(layer, KerasTensor):
            made_by = None if layer.node is None else layer.node.operation
            if not isinstance(made_by, InputLayer):
                raise ValueError(
                    "Only instances of `Layer` and what `Input(...)` returns can be added to a Sequential "
                    f"model. Received: {layer!r}, which a layer has returned. Add the layer itself, or make "
                    "a model of tensors with `Model(inputs, outputs)`."
                )
            layer = made_by
        if not isinstance(layer, Layer):
            if callable(layer):
                how = (
                    other_keras.advice(layer)
                    or " Wrap a function in `layers.Lambda`, or write a Layer."
                )
                raise ValueError(
                    f"Only instances of `Layer` can be added to a Sequential model. Received: {layer!r}.{how}"
                )
            raise ValueError(
                f"Only instances of `Layer` can be added to a Sequential model. Received: {layer!r} "
                f"(of type {type(layer).__name__}).{other_keras.advice(layer)}"
            )
        if layer.name in names and not any(layer is each for each in below):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. Name '{layer.name}' "
                "is already the name of a layer in this model."
            )
        if isinstance(layer, InputLayer) and below:
            raise ValueError(
                f"Sequential model '{self.name}' has already been configured to begin with "
                f"'{below[0].name}'. You cannot add an Input on top."
            )
        # The old way to declare the input, `Dense(8, input_shape=(4,))`.
        if not below and layer._tfkit_input_shape_argument is not None:
            return [InputLayer(shape=layer._tfkit_input_shape_argument), layer]
        if not below and isinstance(layer, Model) and len(layer._tfkit_entries()) == 1:
            entry = layer._tfkit_entries()[0]
            first = InputLayer(
                batch_shape=entry.shape, dtype=entry.dtype, sparse=entry.sparse, ragged=entry.ragged
            )
            return [first, layer]
        return [layer]

    def build(self, input_shape: Any = None) -> None:
        """Connects the layers, as an `Input` of this shape would.

        Args:
            input_shape: shape of the input, with the batch.

        Raises:
            ValueError: if there are no layers, and for a shape that does not fit the `Input` below them.

        Example:
            >>> model = tfkit.Sequential([tfkit.layers.Dense(2)])
            >>> model.build((None, 3))
            >>> model.count_params()
            8
        """
        if not self._tfkit_stack:
            raise ValueError(
                f"Sequential model '{self.name}' cannot be built because it has no layers. "
                "Call `model.add(layer)`."
            )
        if self._tfkit_graph is not None and is_shape(input_shape):
            known = self._tfkit_graph.flat_inputs[0].shape
            if not tf.TensorShape(known).is_compatible_with(input_shape):
                raise ValueError(
                    f"Sequential model '{self.name}' has already been configured to use input shape {known}. "
                    f"You cannot build it with input_shape={tuple(input_shape)}."
                )
        if self._tfkit_graph is None and input_shape and is_shape(input_shape):
            spec = (self._tfkit.specs or {}).get("inputs")
            dtype = self._tfkit_stack[0].compute_dtype if spec is None else spec.dtype
            if tf.as_dtype(dtype).size == 2 and spec is None:
                dtype = settings.floatx()  # 16 bits would round ids to others.
            # The name does not depend on other models, because exported signatures contain it.
            default = auto_name("InputLayer")  # Counted, as in Keras, where it is the name.
            taken = any(layer.name == "inputs" for layer in self._tfkit_stack)
            name = default if taken else "inputs"
            entry = InputLayer(batch_shape=tuple(input_shape), dtype=dtype, name=name)
            self._tfkit_set_stack([entry, *self._tfkit_stack])

    def _tfkit_build_once(self, arguments: CallArguments) -> None:
        """Connects the layers with the first input; layers that cannot be traced run one by one instead."""
        try:
            super()._tfkit_build_once(arguments)
        except Exception as error:
            if not self._tfkit_stack:
                raise
            _check_arguments(self._tfkit_stack)
            self._tfkit_why_untraced = " ".join([str(error), *getattr(error, "__notes__", ())])

    def _tfkit_has_own_floats(self) -> bool:
        # Before there is an `Input`, too: the first layer casts.
        return tf.as_dtype(self.compute_dtype).size == 2 or super()._tfkit_has_own_floats()

    def pop(self, rebuild: bool = True) -> Layer:
        """Removes the topmost layer and returns it.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.pop().name, len(model.layers)
            ('scores', 0)
        """
        del rebuild
        if not self._tfkit_stack:
            raise IndexError(f"Sequential model '{self.name}' has no layer to remove.")
        layer = self._tfkit_stack[-1]
        self._tfkit_set_stack(self._tfkit_stack[:-1])
        return layer

    def _tfkit_set_stack(self, stack: list[Layer]) -> None:
        """Sets a new stack of layers: new layers are called, existing ones are not changed.

        Layers below the new ones are not called: adding a layer takes as long on 1,000 layers as on one.
        """
        before = self._tfkit_stack
        self._tfkit_set("_tfkit_stack", stack)
        if not stack or not isinstance(stack[0], InputLayer):
            self._tfkit_graph = None
            self.built = False
            return
        graph = self._tfkit_graph if before == stack[: len(before)] else None
        # Layers that are added on top continue the graph; after a removal it is made from the
        # input again.
        new = stack[len(before) if graph is not None else 1 :]
        touched = [below for layer in new for below in tracking.all_layers(layer)]
        try:
            with building.undone_on_error([self, *touched]), CallFrame(self) as frame:
                # Each new weight needs its path.
                named = local_names(self._tfkit_graph_layers())
                frame.steps = {id(layer): (layer, name) for name, layer in named}
                self._tfkit_connect(stack[0].output, graph, new)
        except BaseException:
            # A layer that cannot be added leaves the model as it was.
            self._tfkit_set("_tfkit_stack", before)
            raise

    def _tfkit_connect(self, first: KerasTensor, graph: Graph | None, new: list[Layer]) -> None:
        """Calls the new layers on the input, or on the output of the graph of the layers below."""
        _check_arguments(new)
        output = first if graph is None else graph.outputs
        for layer in new:
            output = layer(output)
        # `add` in a loop would otherwise search the whole graph for each layer.
        on_top = graph.with_call(output) if graph is not None and len(new) == 1 else None
        self._tfkit_set_graph(on_top or Graph(first, output))
        if new:
            auto_name("Functional")  # In Keras the graph is a model, which has a default name.
        self.input_spec = None  # The layers check the inputs: some accept other sizes.

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Runs the layers from bottom to top.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.call(tf.ones((4, 3))).shape
            TensorShape([4, 2])
        """
        if self._tfkit_graph is not None:
            return super().call(inputs, training, mask)
        for layer in self._tfkit_stack:
            inputs = layer(inputs)
        # Only after the layers have run, because their own errors say more.
        self._tfkit_warn_if_untraced()
        return inputs

    def _tfkit_warn_if_untraced(self) -> None:
        why, self._tfkit_why_untraced = self._tfkit_why_untraced, ""
        if why:
            warn(
                f"The layers of the Sequential model '{self.name}' cannot be traced, and run one by one; the "
                f"model has no `inputs` and `outputs`. {why}"
            )

    @property
    def inputs(self) -> Any:
        """The symbolic input, as a list.

        Raises:
            AttributeError: before the model is built.
        """
        if self._tfkit_graph is None:
            raise AttributeError(
                f"Sequential model '{self.name}' has no defined inputs yet. Call it on data, or begin it "
                "with an `Input`."
            )
        return self._tfkit_graph.flat_inputs

    @property
    def outputs(self) -> Any:
        """The symbolic output, as a list.

        Raises:
            AttributeError: before the model is built.
        """
        if self._tfkit_graph is None:
            raise AttributeError(
                f"Sequential model '{self.name}' has no defined outputs yet. Call it on data, or begin it "
                "with an `Input`."
            )
        return self._tfkit_graph.flat_outputs

    # As in Keras, these are tensors of the first call, such as those of the model that this one is part
    # of; `inputs` and `outputs` are always its own.
    @property
    def input(self) -> Any:
        """The symbolic input of the first recorded call; if there is none, the model's own."""
        graph = None if self._tfkit.nodes else self._tfkit_graph
        return self._tfkit.first_node.inputs if graph is None else graph.inputs

    @property
    def output(self) -> Any:
        """The symbolic output of the first recorded call; if there is none, the model's own."""
        graph = None if self._tfkit.nodes else self._tfkit_graph
        return self._tfkit.first_node.outputs if graph is None else graph.outputs

    @property
    def layers(self) -> list[Layer]:
        """The layers, without the input."""
        return LayerList(it for it in self._tfkit_stack if not isinstance(it, InputLayer))

    @layers.setter
    def layers(self, _: Any) -> None:
        raise AttributeError(
            "`Sequential.layers` attribute is reserved and should not be used. Use `add()` and `pop()` to "
            "change the layers in this model."
        )

    def _tfkit_graph_layers(self) -> list[Layer]:
        # A layer may occur several times in the stack.
        return list(dict.fromkeys(self._tfkit_stack))

    def get_config(self) -> dict[str, Any]:
        """Returns the layers from bottom to top.

        Example:
            >>> config = tfkit.Sequential(
            ...     [tfkit.Input((3,)), tfkit.layers.Dense(2)], name="small"
            ... ).get_config()
            >>> config["name"], [layer["class_name"] for layer in config["layers"]]
            ('small', ['InputLayer', 'Dense'])
        """
        config: dict[str, Any] = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": self.dtype_policy.name,
            "layers": [
                {
                    **serialization.serialize_keras_object(layer),
                    "auto_named": layer._tfkit_auto_named,
                }
                for layer in self._tfkit_stack
            ],
        }
        if self.input_shape_or_none is not None:
            config["build_input_shape"] = self.input_shape_or_none
        return config

    @property
    def input_shape_or_none(self) -> Any:
        """The shape of the input; `None` if it is not known."""
        return None if self._tfkit_graph is None else self._tfkit_graph.flat_inputs[0].shape

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Returns a new model with the layers of a configuration.

        Example:
            >>> config = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)]).get_config()
            >>> tfkit.Sequential.from_config(config).output_shape
            (None, 2)
        """
        if custom_objects:
            with registry.custom_object_scope(custom_objects):
                return cls.from_config(config)
        if not isinstance(config, dict) or "layers" not in config:
            raise ValueError(
                "The configuration of a Sequential model must be a dict with the key 'layers'. "
                f"Received: {quoted(config)}"
            )
        model = cls(name=config.get("name"))
        layers: list[Layer] = []
        known: dict[str, tuple[Any, Layer]] = {}
        for entry in config["layers"]:
            if not isinstance(entry, dict) or "config" not in entry:
                raise ValueError(
                    "The configuration of a Sequential model contains something that is not a layer. "
                    f"Expected a dictionary containing a 'config' key. Received: {quoted(entry)}"
                )
            # Names are unique, so an entry that is repeated is a layer that is called again.
            name = str(entry["config"].get("name")) if isinstance(entry["config"], dict) else ""
            if name in known and known[name][0] == entry:
                layers.append(known[name][1])
                continue
            layer = serialization.deserialize_keras_object(entry)
            if not isinstance(layer, Layer):
                raise ValueError(
                    f"The configuration of a Sequential model contains {quoted(layer)}, which is not a layer."
                )
            layer._tfkit_auto_named = entry.get("auto_named", False)
            layers.append(layer)
            known[name] = (entry, layer)
        model._tfkit_begin_with(layers)
        if config.get("trainable") is False:
            freeze_alone(model)
        return model


def _check_arguments(layers: list[Layer]) -> None:
    """Raises an error for layers that cannot be called with a single tensor."""
    for layer in layers:
        parameters = layer._tfkit.signature.signature.parameters.values()
        needed = [
            it.name for it in parameters if it.default is it.empty and it.kind in _BY_POSITION
        ]
        if len(needed) > 1:
            raise ValueError(
                "Layers of a Sequential model can only have a single required positional argument, the "
                f"input tensor. The `call` of layer '{layer.name}' (of type {type(layer).__name__}) needs "
                f"{needed}. Give the others defaults, or use `Model(inputs, outputs)`."
            )
