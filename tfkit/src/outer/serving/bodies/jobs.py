"""The jobs on bodies: values and arrays in, values and arrays out, in this process or in a separate one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import protos, rest_json
from .rest_json import Arrays


def predict_inputs(value: dict[str, dict[str, str]], arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the signature name of a predict request, whether it has rows, and the inputs.

    Args:
        value: dtypes of the inputs by name, for each signature.
        arrays: the bytes of the `body`.

    Inputs are not read for a signature that does not exist.
    """
    request = rest_json.parse(arrays["body"].tobytes())
    name = rest_json.signature_name(request)
    dtypes = value.get(name)
    if dtypes is None:
        return (name, False), {}
    inputs, in_rows = rest_json.predict_inputs(request, dtypes)
    return (name, in_rows), inputs


def examples(value: None, arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the signature name of a classify or regress request, and its serialized examples.

    Args:
        value: nothing.
        arrays: the bytes of the `body`.
    """
    request = rest_json.parse(arrays["body"].tobytes())
    found = rest_json.examples(request)
    inputs = np.empty(len(found), object)
    inputs[:] = found
    return rest_json.signature_name(request), {"inputs": inputs}


def predict_message(value: tuple[tuple[bytes, ...], int], arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the result of `protos.predict_request` for the bytes of the message.

    Args:
        value: descriptions of the messages, and the bytes of the largest array to make.
        arrays: the bytes of the `body`.
    """
    files, max_bytes = value
    message_type = protos.message_class(files, "tensorflow.serving.PredictRequest")
    request = protos.decoded(message_type, arrays["body"].tobytes())
    answer, inputs = protos.predict_request(request, max_bytes)
    return answer, inputs


def examples_message(value: tuple[tuple[bytes, ...], str], arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the result of `protos.examples_request` for the bytes of the message.

    Args:
        value: descriptions of the messages, and the name of the type of the message.
        arrays: the bytes of the `body`.
    """
    request = protos.decoded(protos.message_class(*value), arrays["body"].tobytes())
    answer, inputs = protos.examples_request(request)
    return answer, inputs


def predict_answer(value: bool, arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the text of the response to a predict request; `value` is whether it is in rows."""
    return None, _text(rest_json.predict_answer(arrays, value))


def classification(value: None, arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the text of the response to a classify request, from `labels` and `scores`."""
    return None, _text(rest_json.classification(arrays["labels"], arrays["scores"]))


def regression(value: None, arrays: Arrays) -> tuple[Any, Arrays]:
    """Returns the text of the response to a regress request, from its `values`."""
    return None, _text(rest_json.regression(arrays["values"]))


JOBS = {
    job.__name__: job
    for job in (
        predict_inputs,
        examples,
        predict_message,
        examples_message,
        predict_answer,
        classification,
        regression,
    )
}


def body_of(content: bytes) -> Arrays:
    """Returns the arrays of a job that takes or returns a body."""
    return {"body": np.frombuffer(content, np.uint8)}


def _text(answer: Any) -> Arrays:
    text = json.dumps(answer, separators=(", ", ": ")) + "\n"
    return body_of(text.encode())
