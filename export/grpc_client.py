"""Asks a served model over gRPC, with arrays. Needs `pip install tensorflow-serving-api`.

    python grpc_client.py digits --status
    python grpc_client.py digits x=rows.npy
    python grpc_client.py digits x=rows.npy --signature embed --output-dir answers

Reference: tensorflow_serving/apis/prediction_service.proto
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)


class GrpcClient:
    """A model on a server. Use it in a `with` block, or call `close()` when done.

    Args:
        name: of the model.
        address: of the server.
        version: number of the version to ask, the newest unless given.
        timeout: seconds to wait for an answer.
        max_bytes: largest answer that is taken.

    All methods raise `grpc.RpcError`, with `code()` and `details()`, for what the server refuses.

    Example:
        `GrpcClient("digits").predict(x=np.zeros((1, 3), "float32"))`
    """

    def __init__(
        self,
        name: str,
        address: str = "127.0.0.1:8500",
        version: int | None = None,
        timeout: float = 10.0,
        max_bytes: int = 256 * 2**20,
    ) -> None:
        options = [("grpc.max_receive_message_length", max_bytes)]
        self._channel = grpc.insecure_channel(address, options)
        self._prediction = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._name = name
        self._version = version
        self._timeout = timeout

    def predict(
        self, signature: str = "serving_default", /, **inputs: Any
    ) -> dict[str, np.ndarray]:
        """The outputs by name. Inputs are arrays of exactly the signature's dtypes."""
        request = self._asked(predict_pb2.PredictRequest(), signature)
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        response = self._prediction.Predict(request, timeout=self._timeout)
        return {name: tf.make_ndarray(tensor) for name, tensor in response.outputs.items()}

    def classify(
        self, examples: list[dict[str, Any]], signature: str = "serving_default"
    ) -> list[list[tuple[str, float]]]:
        """Labels and scores for each example, which is a dict of features."""
        request = self._asked(classification_pb2.ClassificationRequest(), signature)
        request.input.example_list.examples.extend(map(_example, examples))
        response = self._prediction.Classify(request, timeout=self._timeout)
        return [
            [(each.label, each.score) for each in row.classes]
            for row in response.result.classifications
        ]

    def regress(
        self, examples: list[dict[str, Any]], signature: str = "serving_default"
    ) -> list[float]:
        """A number for each example, which is a dict of features."""
        request = self._asked(regression_pb2.RegressionRequest(), signature)
        request.input.example_list.examples.extend(map(_example, examples))
        response = self._prediction.Regress(request, timeout=self._timeout)
        return [each.value for each in response.result.regressions]

    def signatures(self) -> dict[str, Any]:
        """The `SignatureDef`s by name."""
        request = self._asked(get_model_metadata_pb2.GetModelMetadataRequest())
        request.metadata_field.append("signature_def")
        response = self._prediction.GetModelMetadata(request, timeout=self._timeout)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        response.metadata["signature_def"].Unpack(signatures)
        return dict(signatures.signature_def)

    def status(self) -> list[Any]:
        """A `ModelVersionStatus` for each version."""
        request = self._asked(get_model_status_pb2.GetModelStatusRequest())
        response = self._models.GetModelStatus(request, timeout=self._timeout)
        return list(response.model_version_status)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> GrpcClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _asked(self, request: Any, signature: str = "") -> Any:
        request.model_spec.name = self._name
        request.model_spec.signature_name = signature
        if self._version is not None:
            request.model_spec.version.value = self._version
        return request


def _example(features: dict[str, Any]) -> tf.train.Example:
    """A `tf.Example`: strings and bytes, whole numbers, or other numbers, one or a list of them."""
    example = tf.train.Example()
    for name, value in features.items():
        values = np.ravel(value).tolist()
        target = example.features.feature[name]
        if all(isinstance(item, (str, bytes)) for item in values):
            texts = [item.encode() if isinstance(item, str) else item for item in values]
            target.bytes_list.value.extend(texts)
        elif all(isinstance(item, int) for item in values):
            target.int64_list.value.extend(values)
        else:
            target.float_list.value.extend(values)
    return example


def main(argv: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Asks a served model over gRPC.")
    parser.add_argument("name", help="of the model")
    parser.add_argument("inputs", nargs="*", metavar="INPUT=FILE.npy")
    parser.add_argument("--address", default="127.0.0.1:8500")
    parser.add_argument("--version", type=int)
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--status", action="store_true")
    parser.add_argument("--output-dir", help="write OUTPUT.npy files instead of printing")
    args = parser.parse_args(argv)
    if bad := [each for each in args.inputs if "=" not in each]:
        parser.error(f"expected INPUT=FILE.npy, received {bad[0]}")
    files = dict(each.split("=", 1) for each in args.inputs)
    with GrpcClient(args.name, args.address, args.version) as client:
        try:
            if args.status:
                for status in client.status():
                    print(json_format.MessageToJson(status))
                return 0
            inputs = {name: np.load(file, allow_pickle=False) for name, file in files.items()}
            outputs = client.predict(args.signature, **inputs)
        except grpc.RpcError as error:
            print(f"grpc_client: {error.code().name}: {error.details()}", file=sys.stderr)
            return 1
        except (OSError, ValueError) as error:
            print(f"grpc_client: {error}", file=sys.stderr)
            return 1
    for name, array in outputs.items():
        if args.output_dir:
            plain = array.astype(bytes) if array.dtype == object else array
            np.save(os.path.join(args.output_dir, f"{name}.npy"), plain)
        else:
            print(f"{name}: {array.tolist()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
