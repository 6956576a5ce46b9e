"""Warm-up requests, which TF Serving runs after loading a version and before answering requests.

A TFRecord file of `PredictionLog` messages. The package with these messages, `tensorflow-serving-api`, is
not needed: they hold little except `TensorProto`s, which TensorFlow has.

Reference: tensorflow_serving/apis/prediction_log.proto, predict.proto, classification.proto, input.proto
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.protobuf import field, fields
from tfkit.src.borrowed.private import TensorProto
from tfkit.src.export.examples import CLASSIFY, REGRESS

FILE = Path("assets.extra", "tf_serving_warmup_requests")

# Field of `PredictionLog` by kind of request; in each of the three logs the request is field 1.
_LOGS = {CLASSIFY: 2, REGRESS: 3}
_PREDICT_LOG = 6


def write_warmup(folder: Path, model_name: str, requests: Iterable[tuple[str, str, Any]]) -> None:
    """Writes the warm-up file of a SavedModel.

    Args:
        folder: the SavedModel.
        model_name: the name under which it is served.
        requests: signature, method name and inputs by name, of each request.
    """
    file = folder / FILE
    file.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(file)) as writer:
        for signature, method_name, inputs in requests:
            writer.write(encode_request(model_name, signature, method_name, inputs))


def read_warmup(folder: Path) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Returns the signature and the inputs of each request in a warm-up file."""
    return [
        decode_request(record.numpy()) for record in tf.data.TFRecordDataset(str(folder / FILE))
    ]


def encode_request(model_name: str, signature: str, method_name: str, inputs: Any) -> bytes:
    """Returns a request as a `PredictionLog`.

    Args:
        model_name: name of the served model.
        signature: name of the signature.
        method_name: the kind of request.
        inputs: arrays by name.
    """
    spec = field(1, model_name.encode()) + field(3, signature.encode())
    if method_name in _LOGS:
        examples = b"".join(field(1, example) for example in inputs["inputs"])
        body = field(2, field(1, examples))
    else:
        body = b"".join(
            field(2, field(1, name.encode()) + field(2, _tensor(array)))
            for name, array in inputs.items()
        )
    return field(_LOGS.get(method_name, _PREDICT_LOG), field(1, field(1, spec) + body))


def decode_request(record: bytes) -> tuple[str, dict[str, np.ndarray]]:
    """Returns signature and inputs of a request that `encode_request` wrote."""
    ((log, content),) = fields(record)
    ((_, request),) = fields(content)
    parts = list(fields(request))
    signature = dict(fields(parts[0][1]))[3].decode()
    if log != _PREDICT_LOG:
        ((_, examples),) = fields(parts[1][1])
        return signature, {"inputs": np.array([text for _, text in fields(examples)], object)}
    entries = [dict(fields(entry)) for _, entry in parts[1:]]
    return signature, {
        entry[1].decode(): tf.make_ndarray(TensorProto.FromString(entry[2])) for entry in entries
    }


def _tensor(array: np.ndarray) -> bytes:
    return tf.make_tensor_proto(array, shape=array.shape).SerializeToString()
