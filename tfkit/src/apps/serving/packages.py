"""The packages of `tfkit-dl[serve]`, as attributes: imported together when the server first uses one.

Other commands thus start without them, be they installed or not.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "grpc": "grpc",
    "web": "aiohttp.web",
    "json_format": "google.protobuf.json_format",
    "classification_pb2": "tensorflow_serving.apis.classification_pb2",
    "get_model_metadata_pb2": "tensorflow_serving.apis.get_model_metadata_pb2",
    "get_model_status_pb2": "tensorflow_serving.apis.get_model_status_pb2",
    "predict_pb2": "tensorflow_serving.apis.predict_pb2",
    "prediction_log_pb2": "tensorflow_serving.apis.prediction_log_pb2",
    "regression_pb2": "tensorflow_serving.apis.regression_pb2",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = {each: importlib.import_module(path) for each, path in _MODULES.items()}
    except ImportError as error:
        raise ImportError(
            f"The server needs packages that are not installed: pip install 'tfkit-dl[serve]' ({error})"
        ) from None
    globals().update(found)
    return found[name]
