"""`ExportArchive`: writes endpoints and their shared variables and tables as one SavedModel."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfkit.src.base.terminal import say
from tfkit.src.borrowed.private import AutoTrackable, Trackable
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.export.captures import captured_resources, captured_variables
from tfkit.src.export.endpoints import PREDICT, Endpoint, function_endpoint, layer_endpoint
from tfkit.src.export.examples import ExampleFunction
from tfkit.src.export.finishing import finish
from tfkit.src.export.folders import export_folder
from tfkit.src.export.provenance import write_provenance

DEFAULT = "serving_default"
_RESERVED = {"variables", "trainable_variables", "non_trainable_variables", "signatures"}


class ExportArchive:
    """Collects endpoints, and writes them with their variables and tables as a SavedModel.

    A SavedModel needs none of the code that made it: `tf.saved_model.load` returns an object with a method
    for each endpoint, and TF Serving answers each of them as a signature. The first is `serving_default`.

    Args:
        format: must be `"saved_model"`. Default: `"saved_model"`.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
        >>> archive = ExportArchive()
        >>> _ = archive.add_endpoint("serve", model.call, [tf.TensorSpec([None, 3])])
        >>> print(archive.describe())
        * Endpoint 'serve'
            takes inputs: float32 (None, 3)
            gives output_0: float32 (None, 1)
    """

    def __init__(self, format: str = "saved_model") -> None:
        if format != "saved_model":
            raise ValueError(f"Unsupported format. Expected 'saved_model'. Received: {format!r}")
        self.endpoints: dict[str, Endpoint] = {}
        self._collections: dict[str, list[tf.Variable]] = {}
        self._tracked: dict[int, tuple[tf.Variable, bool]] = {}
        self._known: dict[int, tuple[tf.Variable, bool]] = {}
        self._layers: list[Any] = []
        self._resources: list[Any] = []

    # --- Adding endpoints ---------------------------------------------------------------------------

    def track(self, resource: Any) -> None:
        """Keeps the weights of a layer, or a table, even if no endpoint uses them.

        Variables and tables of endpoints are found without it.

        Args:
            resource: a layer or model that is built, or a trackable object of TensorFlow.

        Raises:
            ValueError: for a layer that is not built, and for any other object.
        """
        if hasattr(resource, "_tfkit"):
            if not resource.built:
                raise ValueError(
                    f"Layer '{resource.name}' is not built yet. Call it on some data before the export."
                )
            self.know(resource)
            for variable, trained in tracking.variables_of(resource, seeds=False):
                self._tracked[id(variable)] = variable, trained
        elif isinstance(resource, Trackable):
            self._resources.append(resource)
        else:
            raise ValueError(
                "Invalid resource type. Expected a layer, a model or a trackable object of TensorFlow. "
                f"Received: {resource!r} (of type {type(resource).__name__})"
            )

    def know(self, layer: Layer) -> None:
        """Registers which variables of a layer are trained, and their order, for endpoints that use them."""
        self._layers.append(layer)
        for variable, trained in tracking.variables_of(layer, seeds=False):
            # A layer may be frozen while its variables say `trainable`: the layer decides.
            self._known[id(variable)] = variable, trained

    def add_endpoint(
        self,
        name: str,
        fn: Any,
        input_signature: Any = None,
        *,
        jit_compile: bool = False,
        freeze: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Adds a function as an endpoint.

        Args:
            name: the name of the signature and of the method.
            fn: function or method of tensors; or the result of `classify` or `regress`. It may use any
                variables and tables.
            input_signature: list with a spec for each argument (`tf.TensorSpec`, `InputSpec`, symbolic
                tensor, or nests of them). A `tf.function` that was called needs none.
            jit_compile: whether the runtime compiles it with XLA.
            freeze: whether constants replace its variables, and everything that depends only on
                them is computed now. Then it cannot be trained further.
            **kwargs: not supported: Keras's arguments here are for JAX.

        Returns:
            The `tf.function` that was added, which other endpoints may call.

        Raises:
            ValueError: for a name that is already used, and if the inputs are not known.
        """
        _check_keywords(kwargs)
        self._check_name(name)
        if isinstance(fn, ExampleFunction):
            added = fn.endpoint(name, jit_compile=jit_compile, freeze=freeze)
        else:
            added = function_endpoint(
                name, fn, input_signature, jit_compile=jit_compile, freeze=freeze
            )
        return self.add(added)

    def track_and_add_endpoint(
        self,
        name: str,
        resource: Any,
        input_signature: Any = None,
        *,
        jit_compile: bool = False,
        freeze: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Tracks a layer or model, and adds its call as an endpoint."""
        _check_keywords(kwargs)
        self._check_name(name)
        self.track(resource)
        added = layer_endpoint(
            name, resource, input_signature, jit_compile=jit_compile, freeze=freeze
        )
        return self.add(added)

    def add(self, endpoint: Endpoint) -> Any:
        """Adds a finished endpoint, and returns its `tf.function`."""
        self._check_name(endpoint.name)
        self.endpoints[endpoint.name] = endpoint
        return endpoint.function

    def add_variable_collection(self, name: str, variables: Any) -> None:
        """Keeps variables as a list under a separate name.

        Args:
            name: attribute of the object that `tf.saved_model.load` returns.
            variables: list, tuple or set of variables.

        Raises:
            ValueError: for anything else.
        """
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(
                "Expected `variables` to be a list/tuple/set. "
                f"Received instead object of type '{type(variables)}'."
            )
        if not all(isinstance(variable, tf.Variable) for variable in variables):
            raise ValueError(
                "Expected all elements in `variables` to be `tf.Variable` instances. Found instead the "
                f"following types: {sorted({type(variable).__name__ for variable in variables})}"
            )
        self._check_name(name)
        self._collections[name] = list(variables)

    def _check_name(self, name: str) -> None:
        if name in self.endpoints or name in self._collections or name in _RESERVED:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        # Such attributes of the root belong to TensorFlow and to `_resources`.
        if not name or name.startswith("_"):
            raise ValueError(
                f"The name of an endpoint does not begin with an underscore. Received: {name!r}"
            )

    @property
    def variables(self) -> list[tf.Variable]:
        """The variables of tracked objects."""
        return [variable for variable, _ in self._tracked.values()]

    @property
    def trainable_variables(self) -> list[tf.Variable]:
        """The variables that training changes."""
        return [variable for variable, trained in self._tracked.values() if trained]

    @property
    def non_trainable_variables(self) -> list[tf.Variable]:
        """The variables that training does not change."""
        return [variable for variable, trained in self._tracked.values() if not trained]

    @property
    def state(self) -> list[tf.Variable]:
        """All variables that a call of an endpoint may read or change, including seeds."""
        used = captured_variables(endpoint.signature for endpoint in self.endpoints.values())
        known = [
            each for layer in self._layers for each, _ in tracking.variables_of(layer, seeds=True)
        ]
        return list(
            {id(variable): variable for variable in [*self.variables, *known, *used]}.values()
        )

    # --- Writing ------------------------------------------------------------------------------------

    def write_out(self, filepath: Any, options: Any = None, verbose: bool = True) -> None:
        """Writes the SavedModel, completely or not at all; an existing one is replaced.

        Args:
            filepath: folder.
            options: `tf.saved_model.SaveOptions`.
            verbose: whether to print the endpoints.

        Raises:
            ValueError: if there is no endpoint.
            FileExistsError: if `filepath` is something other than a SavedModel.
        """
        if not self.endpoints:
            raise ValueError("No endpoints have been set. Call `add_endpoint()` first.")
        with export_folder(filepath) as folder:
            self.write_into(folder, options)
            write_provenance(folder)
        if verbose:
            say(f"Saved artifact at '{filepath}'. Endpoints:\n\n{self.describe()}")

    def write_into(self, folder: Path, options: Any = None) -> None:
        """Writes the files of the SavedModel into a folder, which others may see incomplete."""
        root = self._root()
        # In notebooks TensorFlow logs information: here, the path of a temporary folder.
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel(max(level, logging.WARNING))
        try:
            tf.saved_model.save(root, str(folder), options=options, signatures=self._signatures())
        finally:
            logger.setLevel(level)
        methods = {
            name: endpoint.method_name
            for name, endpoint in {**self.endpoints, DEFAULT: self.default}.items()
            if endpoint.method_name != PREDICT
        }
        finish(folder, methods)

    @property
    def default(self) -> Endpoint:
        """The endpoint with the signature `serving_default`: the one of this name, or else the first."""
        return self.endpoints.get(DEFAULT) or next(iter(self.endpoints.values()))

    def _signatures(self) -> dict[str, Any]:
        signatures = {name: endpoint.signature for name, endpoint in self.endpoints.items()}
        return signatures | {DEFAULT: self.default.signature}

    def _root(self) -> Any:
        """Returns the object that is written: methods, variables, and the owners of all captured tensors."""
        functions = [endpoint.signature for endpoint in self.endpoints.values()]
        used = captured_variables(functions)
        root = AutoTrackable()
        for name, endpoint in self.endpoints.items():
            setattr(root, name, endpoint.function)
        for name, collection in self._collections.items():
            setattr(root, name, collection)
        ids = {id(variable) for variable in used}
        kept = {
            key: entry for key, entry in self._known.items() if key in ids | self._tracked.keys()
        }
        for variable in used:
            # Variables that belong to no layer: only their own flag is known.
            kept.setdefault(id(variable), (variable, variable.trainable))
        root.variables = [variable for variable, _ in kept.values()]
        root.trainable_variables = [variable for variable, trained in kept.values() if trained]
        root.non_trainable_variables = [
            variable for variable, trained in kept.values() if not trained
        ]
        # Tables are written only if the root refers to their owners.
        root._resources = [*self._resources, *captured_resources(functions, used)]
        return root

    def describe(self) -> str:
        """Returns a printable description of the endpoints: names, dtypes and shapes of their tensors."""
        lines = []
        for name, endpoint in self.endpoints.items():
            lines.append(f"* Endpoint '{name}'")
            for kind, specs in (
                ("takes", dict(zip(endpoint.inputs, endpoint.specs, strict=True))),
                ("gives", endpoint.signature.structured_outputs),
            ):
                for key, spec in specs.items():
                    shape = spec.shape if spec.shape.rank is None else tuple(spec.shape)
                    lines.append(f"    {kind} {key}: {spec.dtype.name} {shape}")
        return "\n".join(lines)


def _check_keywords(keywords: dict[str, Any]) -> None:
    if {"is_static", "jax2tf_kwargs"} & keywords.keys():
        raise ValueError(
            "'jax2tf_kwargs' and 'is_static' are only supported with the jax backend. tfkit is for "
            f"TensorFlow: leave them out. Received: {keywords}"
        )
    if keywords:
        raise TypeError(f"Unrecognized keyword arguments. Received: {keywords}")
