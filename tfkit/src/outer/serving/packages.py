"""The packages of `tfkit-dl[serve]`, as attributes: imported together when the server first uses one.

Other commands thus start without them, be they installed or not.
"""

from __future__ import annotations

from typing import Any

from tfkit.src.base.packages import imported

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
    found = {
        each: imported(path, "The server", "gRPC and aiohttp", "'tfkit-dl[serve]'")
        for each, path in _MODULES.items()
    }
    # From then on the attributes are found without this function.
    globals().update(found)
    return found[name]
