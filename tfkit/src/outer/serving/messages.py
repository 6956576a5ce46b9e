"""Converts between TF Serving's protocol messages and arrays.

Reference: tensorflow_serving/apis/*.proto
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.outer.serving import packages

SIGNATURE_DEF = "signature_def"


def tensor_of(array: np.ndarray) -> Any:
    """Returns a `TensorProto` with an array."""
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    return tf.make_tensor_proto(array, dtype=dtype, shape=array.shape)


def classification_result(labels: np.ndarray, scores: np.ndarray) -> Any:
    """Returns a `ClassificationResult` with the labels and scores of each example."""
    result = packages.classification_pb2.ClassificationResult()
    for row in zip(labels.tolist(), scores.tolist(), strict=True):
        classes = result.classifications.add().classes
        for label, score in zip(*row, strict=True):
            classes.add(label=label.decode(errors="replace"), score=score)
    return result


def regression_result(values: np.ndarray) -> Any:
    """Returns a `RegressionResult` with a number for each example."""
    result = packages.regression_pb2.RegressionResult()
    for value in values.tolist():
        result.regressions.add(value=value)
    return result


def metadata_response(name: str, version: int, signature_defs: dict[str, Any]) -> Any:
    """Returns a `GetModelMetadataResponse` with the signatures of a version."""
    response = packages.get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = name
    response.model_spec.version.value = version
    signatures = packages.get_model_metadata_pb2.SignatureDefMap()
    for key, signature in signature_defs.items():
        signatures.signature_def[key].CopyFrom(signature)
    response.metadata[SIGNATURE_DEF].Pack(signatures)
    return response


def status_response(statuses: Iterable[tuple[int, str, int, str]]) -> Any:
    """Returns a `GetModelStatusResponse` for version, state, error code and error message of each version."""
    response = packages.get_model_status_pb2.GetModelStatusResponse()
    for version, state, code, message in statuses:
        added = response.model_version_status.add(version=version)
        added.state = packages.get_model_status_pb2.ModelVersionStatus.State.Value(state)
        added.status.error_code = code
        added.status.error_message = message
    return response
