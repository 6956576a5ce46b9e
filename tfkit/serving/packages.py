"""The packages of `tfkit[serve]`, which only the server needs: all of them or none."""

from __future__ import annotations

try:
    import grpc
    from aiohttp import web
    from google.protobuf import json_format
    from tensorflow_serving.apis import (
        classification_pb2,
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_log_pb2,
        prediction_service_pb2_grpc,
        regression_pb2,
    )
except ImportError as error:
    MISSING: ImportError | None = error
    grpc = json_format = web = None
    classification_pb2 = get_model_metadata_pb2 = get_model_status_pb2 = predict_pb2 = None
    model_service_pb2_grpc = prediction_log_pb2 = prediction_service_pb2_grpc = None
    regression_pb2 = None
else:
    MISSING = None

__all__ = [
    "MISSING",
    "classification_pb2",
    "get_model_metadata_pb2",
    "get_model_status_pb2",
    "grpc",
    "json_format",
    "model_service_pb2_grpc",
    "predict_pb2",
    "prediction_log_pb2",
    "prediction_service_pb2_grpc",
    "regression_pb2",
    "web",
]
