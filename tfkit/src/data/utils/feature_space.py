"""`FeatureSpace`: tables as inputs of models, each column with its own preprocessing."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import did_you_mean
from tfkit.src.base.registry.constructors import Configured, attributes
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.core.layer import Layer
from tfkit.src.data.utils.feature_kinds import KINDS, FeatureKinds
from tfkit.src.data.utils.features import (
    Cross,
    Feature,
    as_column,
    as_values,
    check_mode,
    may_adapt,
    num_indices,
    without_batch,
)
from tfkit.src.files.interop.formats import save_model
from tfkit.src.layers.input_layer import Input
from tfkit.src.layers.merging import Concatenate
from tfkit.src.layers.preprocessing.category_encoding import CategoryEncoding
from tfkit.src.layers.preprocessing.hashed_crossing import HashedCrossing

_INPUT_SHAPE = (None, 1)


class FeatureSpace(Configured, FeatureKinds, Layer):
    """Encodes the columns of a table as numbers and vectors: one layer for each, and crosses of them.

    It is used on dicts, in `dataset.map(feature_space)`, or in a functional model by `get_inputs()` and
    `get_encoded_features()`.

    Args:
        features: dict from names of columns to their kinds: a name such as `"float_normalized"`, or what
            the class method of this name returns, `FeatureSpace.float_normalized()`. The kinds are
            `float`, `float_rescaled`, `float_normalized`, `float_discretized`, `integer_categorical`,
            `string_categorical`, `integer_hashed` and `string_hashed`; `FeatureSpace.feature(...)` accepts a
            preprocessing layer of your own.
        output_mode: `"concat"` for one vector, which has the features in the order of their names, then the
            crosses; `"dict"` for a dict of the encoded features. Default: `"concat"`.
        crosses: list of tuples of names of features whose combinations are hashed into vectors, or of
            `FeatureSpace.cross(...)`; `None` for none.
        crossing_dim: size of the vectors of crosses that are given as tuples. Default: `32`.
        hashing_dim: size of the vectors of `"integer_hashed"` and `"string_hashed"`. Default: `32`.
        num_discretization_bins: number of bins of `"float_discretized"`. Default: `32`.
        name: name of the layer, a string; `None` for a name made from the class's name.

    Call arguments:
        data: a dict with a value for each feature, and no others: a number or string for one row; a list,
            an array or a tensor of shape `(batch,)` or `(batch, 1)`; or a symbolic tensor.

    Input shape: A dict of `()`, `(batch,)` or `(batch, 1)`.

    Output shape: `(batch, size)`, without the batch for a single row; or a dict of such shapes.

    Raises:
        ValueError: if there are no features, if a cross names an unknown one, or if an argument is not one of
            those above; for a call before `adapt`, and for data without a feature.

    Example:
        >>> table = {"age": [20.0, 30.0, 40.0], "job": ["nurse", "driver", "nurse"]}
        >>> space = FeatureSpace({"age": "float_normalized", "job": "string_categorical"})
        >>> space.adapt(table)
        >>> space(table).numpy().astype(int).tolist()
        [[-1, 0, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0]]
        >>> inputs, encoded = space.get_inputs(), space.get_encoded_features()
        >>> tfkit.Model(inputs, tfkit.layers.Dense(1)(encoded)).output_shape
        (None, 1)
    """

    _allow_non_tensor_positional_args = True
    compiled = False
    optimizer = None

    @shortened
    def __init__(
        self,
        features: dict[str, Any],
        output_mode: str = "concat",
        crosses: Any = None,
        crossing_dim: int = 32,
        hashing_dim: int = 32,
        num_discretization_bins: int = 32,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        check_mode(output_mode, ("dict", "concat"))
        self.autocast = False  # Each layer inside casts its column.
        self.output_mode = output_mode
        self.crossing_dim = crossing_dim
        self.hashing_dim = hashing_dim
        self.num_discretization_bins = num_discretization_bins
        self.features = {key: self._as_feature(key, value) for key, value in features.items()}
        self.crosses = [self._as_cross(cross) for cross in crosses or ()]
        self.inputs = {
            key: Input(_INPUT_SHAPE[1:], dtype=feature.dtype, name=key)
            for key, feature in self.features.items()
        }
        self.preprocessors = {key: each.preprocessor for key, each in self.features.items()}
        self.crossers = {
            cross.name: HashedCrossing(cross.crossing_dim, name=cross.name)
            for cross in self.crosses
        }
        self.one_hot_encoders: dict[str, CategoryEncoding] = {}
        self.concat = Concatenate(axis=-1)
        self.encoded_features: Any = None
        self._is_adapted = not self._adaptable()

    # --- Features and crosses ---------------------------------------------------------------------------

    def _as_feature(self, name: str, kind: Any) -> Feature:
        if isinstance(kind, dict):
            kind = deserialize_keras_object(kind)
        if isinstance(kind, Feature):
            return kind
        if not isinstance(kind, str) or kind not in KINDS:
            hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
            raise ValueError(
                f"Invalid feature type of feature '{name}': {kind!r}.{hint} Expected one of {KINDS}, or "
                "what the class method of such a name returns."
            )
        options: dict[str, Any] = {"name": name}
        if kind == "float_discretized":
            options["num_bins"] = self.num_discretization_bins
        elif kind.endswith("_hashed"):
            options["num_bins"] = self.hashing_dim
        made: Feature = getattr(self, kind)(**options)
        return made

    def _as_cross(self, cross: Any) -> Cross:
        if isinstance(cross, dict):
            cross = deserialize_keras_object(cross)
        if not isinstance(cross, Cross):
            if not self.crossing_dim:
                raise ValueError(
                    "With `crosses`, `crossing_dim` should be specified as well: the size of their vectors. "
                    f"Received: crossing_dim={self.crossing_dim}"
                )
            cross = Cross(cross, self.crossing_dim)
        unknown = [key for key in cross.feature_names if key not in self.features]
        if unknown:
            raise ValueError(
                "All features that `crosses` names should be present in the `features` dict. Received: "
                f"unknown features {unknown}; known are {list(self.features)}"
            )
        return cross

    # --- Adapting -------------------------------------------------------------------------------------

    def _adaptable(self) -> list[str]:
        return [name for name, layer in self.preprocessors.items() if may_adapt(layer)]

    @shortened
    def adapt(self, dataset: Any) -> None:
        """Adapts each layer to data: means, vocabularies, bin boundaries.

        Args:
            dataset: a dict of lists or arrays; or a `tf.data.Dataset` of dicts, of rows or of batches.
                Labels next to the dicts are left out. It is read once for each layer that adapts to it.

        Raises:
            ValueError: for anything else, and for data without one of the features.
        """
        if isinstance(dataset, dict):
            dataset = tf.data.Dataset.from_tensor_slices(dataset)
        if not isinstance(dataset, tf.data.Dataset):
            raise ValueError(
                "`adapt()` can only be called on a tf.data.Dataset or a dict of arrays or lists. Received: "
                f"{dataset} (of type {type(dataset).__name__})"
            )
        spec = dataset.element_spec
        spec = spec[0] if isinstance(spec, tuple) else spec
        names = self._adaptable()
        if not isinstance(spec, dict) or not set(names) <= set(spec):
            raise ValueError(
                f"`adapt()` needs a dict with the features {names}. Received: elements of {spec}"
            )
        for name in names:
            # Keras begins a pass to look at a batch: a dataset that shuffles continues with the same order.
            iter(dataset)
            self.preprocessors[name].adapt(_columns(dataset, name, spec[name].shape.rank))
        self._is_adapted = True
        self.encoded_features = None
        self.get_encoded_features()

    def _check_adapted(self) -> None:
        """Raises an error before `adapt`; makes the layers whose sizes `adapt` has found."""
        if not self._is_adapted:
            raise ValueError(
                "You need to call `.adapt(dataset)` on the FeatureSpace before you can start using it."
            )
        found = {
            name: num_indices(self._layer_of(name))
            for name, output_mode in self._output_modes().items()
            if output_mode == "one_hot"
        }
        sizes = {name: size for name, size in found.items() if size}
        made = {name: encoder.num_tokens for name, encoder in self.one_hot_encoders.items()}
        # They change with the vocabularies, which may also be loaded from a file.
        if sizes != made:
            self.one_hot_encoders = {
                name: CategoryEncoding(size, output_mode="multi_hot")
                for name, size in sizes.items()
            }
            self.encoded_features = None

    def _output_modes(self) -> dict[str, str]:
        """Returns the output mode of each feature and cross, in the order of the outputs."""
        crosses = {cross.name: cross.output_mode for cross in self.crosses}
        features = {name: feature.output_mode for name, feature in self.features.items()}
        # Sorted features come before sorted crosses, in the order in which Keras concatenates them.
        return dict(sorted(features.items())) | dict(sorted(crosses.items()))

    def _layer_of(self, name: str) -> Layer:
        layer: Layer = self.preprocessors.get(name) or self.crossers[name]
        return layer

    # --- Encoding -------------------------------------------------------------------------------------

    def get_inputs(self) -> dict[str, Any]:
        """Returns symbolic inputs of shape `(None, 1)` by name, for a functional model."""
        self._check_adapted()
        return self.inputs

    def get_encoded_features(self) -> Any:
        """Returns the encoding of `get_inputs()`: a symbolic tensor, or a dict of them."""
        self._check_adapted()
        if self.encoded_features is None:
            self.encoded_features = self.call(self.inputs)
            self.built = True
        return self.encoded_features

    @shortened
    def __call__(self, data: Any) -> Any:
        """Returns the encoding of a row or a batch.

        Args:
            data: a dict with a value for each feature.
        """
        self._check_adapted()
        if not isinstance(data, dict):
            raise ValueError(
                "A FeatureSpace can only be called with a dict. "
                f"Received: data={data} (of type {type(data).__name__})"
            )
        if set(data) != set(self.features):
            raise ValueError(
                f"A FeatureSpace needs the features {sorted(self.features)}. Received: {sorted(data)}. Take "
                "other columns, such as labels, out of the dict."
            )
        self.get_encoded_features()  # Builds the layers inside.
        values = {name: as_values(data[name], each) for name, each in self.features.items()}
        columns = {name: as_column(value) for name, value in values.items()}
        if all(len(value.shape) for value in values.values()):
            return super().__call__(columns)
        for name, column in columns.items():
            if column.shape[0] != 1:
                raise ValueError(
                    "A single row has single values. Received: values without a batch, and for feature "
                    f"'{name}' shape {tuple(column.shape)}"
                )
        return tf.nest.map_structure(without_batch, super().__call__(columns))

    def call(self, data: dict[str, Any]) -> Any:
        """Returns the encoded features of columns of shape `(batch, 1)`."""
        encoded = {name: layer(data[name]) for name, layer in self.preprocessors.items()}
        for cross in self.crosses:
            columns = [encoded[name] for name in cross.feature_names]
            encoded[cross.name] = self.crossers[cross.name](columns)
        modes = self._output_modes()
        outputs = {name: self._vectors(name, modes[name], encoded[name]) for name in modes}
        if self.output_mode == "dict":
            return outputs
        for name, x in outputs.items():
            dtype = tf.as_dtype(x.dtype)
            if dtype.is_integer or dtype == tf.string:
                raise ValueError(
                    f"Cannot concatenate features because feature '{name}' has not been encoded (it has "
                    f"dtype {dtype.name}). Consider using `output_mode='dict'`, or `'one_hot'` for it."
                )
        vectors = list(outputs.values())
        return self.concat(vectors) if len(vectors) > 1 else vectors[0]

    def _vectors(self, name: str, output_mode: str, x: Any) -> Any:
        """Returns indices as vectors, if the feature requires it."""
        if output_mode != "one_hot":
            return x
        dtype = tf.as_dtype(x.dtype)
        if not dtype.is_integer:
            raise ValueError(
                f"Feature '{name}' has `output_mode='one_hot'`. Thus its preprocessor should return an "
                f"integer dtype. Instead it returns a {dtype.name} dtype: use `output_mode='float'`."
            )
        if name not in self.one_hot_encoders:
            raise ValueError(
                f"Feature '{name}' has `output_mode='one_hot'`, but how many indices its preprocessor, a "
                f"{type(self._layer_of(name)).__name__}, returns is not known. Use `output_mode='int'`."
            )
        return self.one_hot_encoders[name](x)

    # --- Files ----------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the name, as Keras does."""
        return {
            "features": serialize_keras_object(self.features),
            "output_mode": self.output_mode,
            "crosses": serialize_keras_object(self.crosses),
            **attributes(self, "crossing_dim", "hashing_dim", "num_discretization_bins"),
        }

    def get_build_config(self) -> dict[str, Any] | None:
        """Returns the shapes of the columns by name; `None` before `adapt`."""
        if not self._is_adapted:
            return None
        return {name: {"input_shape": _INPUT_SHAPE} for name in self.features}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Makes the weights of the layers inside; the results of `adapt` are in the file."""
        for layer in self.preprocessors.values():
            if not layer.built and layer._tfkit_overrides("build"):
                layer.build(_INPUT_SHAPE)
        self._is_adapted = self.built = True

    def save(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes a file for `models.load_model`.

        Args:
            filepath: path that ends in `.keras`, which Keras loads, or in `.h5`.
            overwrite: whether an existing file is replaced. Default: `True`.
        """
        save_model(self, filepath, overwrite)  # type: ignore[arg-type]


def _columns(dataset: tf.data.Dataset, name: str, rank: int) -> tf.data.Dataset:
    """Returns one column of a dataset, in batches of shape `(batch, 1)`."""
    column = dataset.map(lambda features, *_: features[name])
    # Single rows, without a batch.
    if rank == 0:
        column = column.batch(32)
    return column.map(lambda x: tf.expand_dims(x, -1)) if rank < 2 else column
