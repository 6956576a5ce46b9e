"""Loads an exported model as a layer, with its variables, for further training and export."""

from __future__ import annotations

import inspect
import itertools
import os
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.borrowed.private import set_trainable
from tfkit.src.core.layer import Layer
from tfkit.src.export.archive import DEFAULT
from tfkit.src.export.captures import captured_variables
from tfkit.src.export.saved_model import ENDPOINT
from tfkit.src.export.scan import check_saved_model
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.symbolic.arguments import CallSignature
from tfkit.src.weights.variables.variables import adopt


class TFSMLayer(Layer):
    """A layer that calls an endpoint of a SavedModel, with the SavedModel's variables as its weights.

    The computation of an endpoint is fixed: with a model's `serve`, `training=True` changes nothing
    except that gradients are computed.

    Args:
        filepath: folder of the SavedModel.
        call_endpoint: name of the endpoint that a call of the layer calls. Default: `"serve"`.
        call_training_endpoint: name of the endpoint that it calls with `training=True`; `None` for
            the same one.
        trainable: whether training changes the weights. Default: `True`.
        name: name of the layer, a string without `/`; `None` for a name made from the class's
            name.
        dtype: without effect on the endpoints; part of Keras's signature.
        trusted: whether the SavedModel may have operations on files, other machines, processes or
            Python. Such operations run with your rights: pass `True` only for files whose origin you
            know. Default: `False`.

    Input shape: That of the endpoint.

    Output shape: That of the endpoint.

    Raises:
        LoadError: if the folder holds no SavedModel, one that is damaged, or one with such operations.
        ValueError: if the endpoint does not exist.

    Example:
        >>> import tempfile
        >>> module = tf.Module()
        >>> double = tf.function(lambda x: 2 * x, [tf.TensorSpec([None])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(module, folder, signatures=double)
        ...     layer = TFSMLayer(folder)
        >>> layer(tf.constant([1.0, 2.0]))["output_0"].numpy().tolist()
        [2.0, 4.0]
    """

    def __init__(
        self,
        filepath: Any,
        call_endpoint: str = ENDPOINT,
        call_training_endpoint: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        *,
        trusted: bool = False,
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, autocast=False)
        folder = os.path.abspath(filepath)
        if not trusted:
            check_saved_model(folder)
        self._loaded = _load(folder)
        self.filepath = folder
        self.call_endpoint = call_endpoint
        self.call_training_endpoint = call_training_endpoint
        function, trace = self._find(call_endpoint)
        self._endpoint = self._training_endpoint = function
        traces = [trace]
        if call_training_endpoint is not None:
            self._training_endpoint, trace = self._find(call_training_endpoint)
            traces.append(trace)
        self._set_arguments(traces[0])
        self._training_names = _argument_names(traces[-1])
        self.state = _by_name(captured_variables(traces), self._loaded)
        self.built = True

    def _find(self, endpoint: str) -> tuple[Any, Any]:
        """Returns the function of an endpoint, and its first trace."""
        function = getattr(self._loaded, endpoint, None)
        traces = getattr(function, "concrete_functions", None)
        if traces:
            return function, traces[0]
        signatures = self._loaded.signatures
        if endpoint == ENDPOINT and endpoint not in signatures:
            endpoint = DEFAULT  # A SavedModel that neither tfkit nor Keras has written.
        if endpoint not in signatures:
            raise ValueError(
                f"The endpoint {endpoint!r} is not in the SavedModel {self.filepath!r}. Its endpoints: "
                f"{list(signatures)}"
            )
        return signatures[endpoint], signatures[endpoint]

    def _set_arguments(self, trace: Any) -> None:
        """Gives the layer the arguments of its endpoint."""
        args, kwargs = trace.structured_input_signature
        names = _argument_names(trace)
        specs = zip(names, [*args, *kwargs.values()], strict=True)
        self._specs = {name: tf.nest.map_structure(_unnamed, spec) for name, spec in specs}
        self._tfkit.signature = _Arguments(self.call, names)
        # The layer can be exported again without a call.
        self._tfkit.given = self._specs

    def call(self, *args: Any, training: Any = False, **kwargs: Any) -> Any:
        """Calls the endpoint with these arguments; numbers are cast to its dtypes."""
        given = self._tfkit.signature.signature.bind(*args, **kwargs).arguments
        arguments = {
            name: tf.nest.map_structure(_cast, value, self._specs[name])
            for name, value in given.items()
        }
        for variable in self.state.values():
            variable._value_given()  # The endpoint reads them where tapes learn of trainable ones alone.
        if not training:
            return self._endpoint(**arguments)
        # Endpoints for training may name the same arguments differently: position counts.
        named = zip(self._training_names, arguments.values(), strict=False)
        return self._training_endpoint(**dict(named))

    def get_config(self) -> dict[str, Any]:
        """Raises an error: a configuration that names another file would make its readers open that file."""
        raise TypeError(
            f"Layer '{self.name}' comes from the SavedModel {self.filepath!r} and has no configuration. "
            "Save its weights with `save_weights()`, or export it again."
        )


def _load(folder: str) -> Any:
    try:
        return tf.saved_model.load(folder)
    except MemoryError:
        raise
    except Exception as error:  # TensorFlow raises errors of any kind for damage.
        raise LoadError(
            f"SavedModel {folder!r} cannot be loaded: a file in it is damaged or missing, or this TensorFlow "
            f"does not know what it contains. Copy the whole folder again, or export again. "
            f"{type(error).__name__}: {error}"
        ) from error


def _argument_names(trace: Any) -> list[str]:
    """Returns the names of an endpoint's arguments, in order."""
    args, kwargs = trace.structured_input_signature
    return [*list(trace.function_type.parameters)[: len(args)], *kwargs]


class _Arguments(CallSignature):
    """The arguments of an endpoint, used instead of those of `call`."""

    def __init__(self, call: Any, names: list[str]) -> None:
        super().__init__(call)
        parameters = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names
        ]
        training = inspect.Parameter("training", inspect.Parameter.KEYWORD_ONLY, default=False)
        self.signature = inspect.Signature([*parameters, training])
        self.names = tuple(self.signature.parameters)
        self.takes_any_keyword = False


def _unnamed(spec: Any) -> Any:
    """Returns a spec named after its position in the arguments."""
    return tf.TensorSpec(spec.shape, spec.dtype) if isinstance(spec, tf.TensorSpec) else spec


def _cast(value: Any, spec: Any) -> Any:
    numbers = isinstance(value, tf.Tensor) and value.dtype.is_floating and spec.dtype.is_floating
    return tf.cast(value, spec.dtype) if numbers else value


def _by_name(variables: list[tf.Variable], loaded: Any) -> dict[str, tf.Variable]:
    """Returns the variables by their original names, numbered if these are not unique."""
    trained = getattr(loaded, "trainable_variables", None)
    kept: dict[str, tf.Variable] = {}
    for variable in variables:
        if trained is not None:
            # A SavedModel stores the flag of the variable, which may differ from the flag of its layer.
            set_trainable(variable, any(variable is each for each in trained))
        name = variable.name.partition(":")[0]
        numbers = itertools.count(1)
        candidate = name
        while candidate in kept:
            candidate = f"{name}_{next(numbers)}"
        kept[candidate] = variable
        adopt(variable, name)
    return kept


@shortened
def load(filepath: Any, endpoint: str | None = None, trusted: bool = False) -> TFSMLayer:
    """Returns the model in a SavedModel as a layer, for use, further training and export.

    Args:
        filepath: folder of the SavedModel.
        endpoint: the endpoint that a call of the layer calls: `serve`, or `serving_default` where there is
            no endpoint of that name, unless given.
        trusted: whether the SavedModel may have operations on files, other machines, processes or Python.
            Such a model is refused otherwise, before anything of it has run. Default: `False`.

    Raises:
        LoadError: for a file that is not a SavedModel, and for one with such operations.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.export(folder, verbose=False)
        ...     layer = load(folder)
        >>> layer(np.ones((4, 3), "float32")).shape
        TensorShape([4, 2])
    """
    return TFSMLayer(filepath, endpoint or ENDPOINT, trusted=trusted)
