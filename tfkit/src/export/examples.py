"""Endpoints over serialized `tf.Example`s, for TF Serving's classify and regress requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.export.endpoints import Endpoint, traced_endpoint
from tfkit.src.export.signatures import call_specs, input_names

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"


class ExampleFunction:
    """A model as a function of serialized `tf.Example`s, as `classify` and `regress` make it.

    Args:
        layer: a functional model, or any layer or model that was called.
        features: `tf.io` feature configuration for each input of the model, by name.
        method_name: the kind of request.
        answer: the outputs of the signature for the output of the model.

    Attributes:
        inputs: specs of the model's input tensors by name.
        features: the feature of each.
    """

    def __init__(
        self,
        layer: Layer,
        features: dict[str, Any] | None,
        method_name: str,
        answer: Callable[[tf.Tensor], dict[str, tf.Tensor]],
    ) -> None:
        self.method_name = method_name
        self._layer = layer
        self._answer = answer
        self._specs = call_specs(layer)
        names = input_names(self._specs)
        specs = tf.nest.flatten(list(self._specs.values()))
        self.inputs = dict(zip(names, specs, strict=True))
        self.features = features or {
            name: _feature(name, spec) for name, spec in self.inputs.items()
        }
        if self.features.keys() != self.inputs.keys():
            raise ValueError(
                f"Model '{layer.name}' has the inputs {names}: expected a feature for each. "
                f"Received: {list(self.features)}"
            )

    def __call__(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the signature's outputs for a vector of serialized examples."""
        parsed = tf.io.parse_example(inputs, self.features)
        tensors = [_cast(parsed[name], spec.dtype) for name, spec in self.inputs.items()]
        packed = tf.nest.pack_sequence_as(list(self._specs.values()), tensors)
        arguments = dict(zip(self._specs, packed, strict=True))
        outputs = tf.nest.flatten(self._layer(**arguments, training=False))
        if len(outputs) != 1:
            raise ValueError(
                f"An endpoint for {self.method_name} needs a model with one output. Model "
                f"'{self._layer.name}' has {len(outputs)}."
            )
        # TF Serving's messages have scores and values of float32.
        return self._answer(tf.cast(outputs[0], tf.float32))

    def endpoint(self, name: str, **options: Any) -> Endpoint:
        """Returns the endpoint of this name; `options` are options of `traced_endpoint`."""
        specs = {"inputs": tf.TensorSpec([None], tf.string)}
        return traced_endpoint(name, self, specs, method_name=self.method_name, **options)

    def serialize(self, inputs: dict[str, Any]) -> np.ndarray:
        """Returns serialized examples, one for each row of the model's inputs, which are passed by name."""
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        rows = len(next(iter(arrays.values())))
        return np.array([_example(arrays, self.features, row) for row in range(rows)], object)


def classify(
    layer: Layer,
    labels: Sequence[str] | None = None,
    features: dict[str, Any] | None = None,
    top: int | None = None,
) -> ExampleFunction:
    """Returns an endpoint for TF Serving's classify requests: classes and scores for each `tf.Example`.

    Args:
        layer: a model with one output of scores, shape `(batch, classes)`.
        labels: names of the classes; `"0"`, `"1"`, ... unless given.
        features: `tf.io.FixedLenFeature` and the like by name of the input; made to fit the inputs unless
            given.
        top: number of classes to return, the best first; `None` for all of them in their order.

    Returns:
        A function for `add_endpoint` or `to_serving(endpoints=...)`, with the input `inputs` and the
        outputs `classes` and `scores`.

    Reference: tensorflow_serving/apis/classification.proto

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((3,), name="x"), tfkit.layers.Dense(2)])
        >>> archive = tfkit.export.ExportArchive()
        >>> _ = archive.add_endpoint("labels", classify(model, ["good", "bad"]))
        >>> print(archive.describe())
        * Endpoint 'labels'
            takes inputs: string (None,)
            gives classes: string (None, 2)
            gives scores: float32 (None, 2)
    """

    def answer(scores: tf.Tensor) -> dict[str, tf.Tensor]:
        number = scores.shape[-1]
        names = labels or [str(index) for index in range(number)]
        if scores.shape.rank != 2 or len(names) != number:
            raise ValueError(
                f"Model '{layer.name}' gives scores of shape {scores.shape}. Expected: (batch, "
                f"{len(names)}), for the labels {list(names)[:10]}"
            )
        classes = tf.repeat(tf.constant([list(names)]), tf.shape(scores)[0], axis=0)
        if top is not None:
            scores, order = tf.math.top_k(scores, top)
            classes = tf.gather(classes, order, batch_dims=1)
        return {"classes": classes, "scores": scores}

    return ExampleFunction(layer, features, CLASSIFY, answer)


def regress(layer: Layer, features: dict[str, Any] | None = None) -> ExampleFunction:
    """Returns an endpoint for TF Serving's regress requests: one number for each `tf.Example`.

    Args:
        layer: a model with one output, shape `(batch, 1)` or `(batch,)`.
        features: `tf.io.FixedLenFeature` and the like by name of the input; made to fit the inputs unless
            given.

    Returns:
        A function for `add_endpoint` or `to_serving(endpoints=...)`, with the input `inputs` and the
        output `outputs`.

    Reference: tensorflow_serving/apis/regression.proto

    Example:
        >>> model = tfkit.Sequential([tfkit.Input((3,), name="x"), tfkit.layers.Dense(1)])
        >>> archive = tfkit.export.ExportArchive()
        >>> _ = archive.add_endpoint("price", regress(model))
        >>> print(archive.describe())
        * Endpoint 'price'
            takes inputs: string (None,)
            gives outputs: float32 (None,)
    """

    def answer(outputs: tf.Tensor) -> dict[str, tf.Tensor]:
        if outputs.shape.rank == 2 and outputs.shape[1] == 1:
            outputs = tf.squeeze(outputs, 1)
        if outputs.shape.rank != 1:
            raise ValueError(
                f"Model '{layer.name}' gives outputs of shape {outputs.shape}. Expected: one number for "
                "each row."
            )
        return {"outputs": outputs}

    return ExampleFunction(layer, features, REGRESS, answer)


# --- Features -----------------------------------------------------------------------------------------


def _feature(name: str, spec: tf.TensorSpec) -> Any:
    """Returns the feature that holds one row of an input."""
    dtype = _example_dtype(spec.dtype)
    sizes = spec.shape[1:].as_list()
    if None not in sizes:
        return tf.io.FixedLenFeature(sizes, dtype)
    if None in sizes[1:]:
        raise ValueError(
            f"Input '{name}' of shape {spec.shape} does not fit an example, which has one free size: pass "
            "`features=`."
        )
    # Rows of different lengths are padded to the longest.
    return tf.io.FixedLenSequenceFeature(sizes[1:], dtype, allow_missing=True)


def _example_dtype(dtype: tf.DType) -> tf.DType:
    if dtype == tf.string:
        return tf.string
    # A `tf.Example` has three kinds of values: bytes, float32 and int64.
    return tf.float32 if dtype.is_floating else tf.int64


def _cast(tensor: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tensor if tensor.dtype == dtype else tf.cast(tensor, dtype)


def _example(arrays: dict[str, np.ndarray], features: dict[str, Any], row: int) -> bytes:
    example = tf.train.Example()
    for name, feature in features.items():
        values = arrays[name][row].ravel() if arrays[name].ndim > 1 else [arrays[name][row]]
        target = example.features.feature[name]
        if feature.dtype == tf.string:
            texts = [text.encode() if isinstance(text, str) else bytes(text) for text in values]
            target.bytes_list.value.extend(texts)
        elif feature.dtype == tf.float32:
            target.float_list.value.extend(float(value) for value in values)
        else:
            target.int64_list.value.extend(int(value) for value in values)
    return example.SerializeToString(deterministic=True)
