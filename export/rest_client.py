"""Asks a served model over REST. Needs Python alone: copy it into a program of yours.

    python rest_client.py digits --status
    python rest_client.py digits --metadata
    python rest_client.py digits '[[0.1, 0.2, 0.3]]'              one value for each row
    python rest_client.py digits --columns '{"x": [[0.1], [0.2]]}'  one value for each input
    python rest_client.py digits --method classify --signature labels '[{"x": [0.1, 0.2]}]'
    echo '[[0.1, 0.2, 0.3]]' | python rest_client.py digits -

Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


class ServingError(Exception):
    """What the server says is wrong, and its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{message} (HTTP {status})")
        self.status = status


class RestClient:
    """A model on a server.

    Args:
        name: of the model.
        url: of the server.
        version: number of the version to ask, the newest unless given.
        timeout: seconds to wait for an answer.

    Example:
        `RestClient("digits").predict([[0.1, 0.2, 0.3]])`
    """

    def __init__(
        self,
        name: str,
        url: str = "http://127.0.0.1:8501",
        version: int | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._model = f"{url.rstrip('/')}/v1/models/{urllib.parse.quote(name, safe='')}"
        if version is not None:
            self._model += f"/versions/{version}"
        self._timeout = timeout

    def predict(self, instances: list[Any], signature: str = "serving_default") -> list[Any]:
        """A prediction for each row: a bare value where the model has one output, else a dict."""
        body = {"signature_name": signature, "instances": _encoded(instances)}
        return _decoded(self._ask(":predict", body)["predictions"])

    def predict_columns(self, inputs: Any, signature: str = "serving_default") -> Any:
        """All rows at once: a value for each input by name, bare where there is one; so are outputs."""
        body = {"signature_name": signature, "inputs": _encoded(inputs)}
        return _decoded(self._ask(":predict", body)["outputs"])

    def classify(
        self,
        examples: list[dict[str, Any]],
        signature: str = "serving_default",
        context: dict[str, Any] | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Labels and scores for each example, which is a dict of features."""
        results = self._examples(":classify", examples, signature, context)
        return [[(label, score) for label, score in row] for row in results]

    def regress(
        self,
        examples: list[dict[str, Any]],
        signature: str = "serving_default",
        context: dict[str, Any] | None = None,
    ) -> list[float]:
        """A number for each example, which is a dict of features."""
        return list(self._examples(":regress", examples, signature, context))

    def status(self) -> list[dict[str, Any]]:
        """Version, state and error of each version."""
        return list(self._ask("")["model_version_status"])

    def metadata(self) -> dict[str, Any]:
        """The signatures: names, dtypes and shapes of inputs and outputs."""
        return dict(self._ask("/metadata"))

    def _examples(
        self,
        method: str,
        examples: list[dict[str, Any]],
        signature: str,
        context: dict[str, Any] | None,
    ) -> list[Any]:
        body = {"signature_name": signature, "examples": _encoded(examples)}
        if context:
            body["context"] = _encoded(context)
        return list(self._ask(method, body)["results"])

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._model + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            raise ServingError(error.code, _message(text)) from None


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return text


def _encoded(value: Any) -> Any:
    """`bytes` as `{"b64": text}`; arrays, and what has `tolist`, as lists."""
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if hasattr(value, "tolist"):
        return _encoded(value.tolist())
    if isinstance(value, dict):
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    return value


def _decoded(value: Any) -> Any:
    """The other way: `{"b64": text}` as `bytes`."""
    if isinstance(value, dict):
        if value.keys() == {"b64"}:
            return base64.b64decode(value["b64"])
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value


def main(argv: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Asks a served model over REST.")
    parser.add_argument("name", help="of the model")
    parser.add_argument("values", nargs="?", help="JSON, or - for standard input")
    parser.add_argument("--url", default="http://127.0.0.1:8501")
    parser.add_argument("--version", type=int)
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--method", choices=["predict", "classify", "regress"], default="predict")
    parser.add_argument("--columns", action="store_true", help="values are columns, not rows")
    parser.add_argument("--status", action="store_true")
    parser.add_argument("--metadata", action="store_true")
    args = parser.parse_args(argv)
    client = RestClient(args.name, args.url, args.version)
    try:
        if args.status or args.metadata:
            answer = client.status() if args.status else client.metadata()
        elif args.values is None:
            parser.error("give values, --status or --metadata")
        else:
            values = json.loads(sys.stdin.read() if args.values == "-" else args.values)
            method = client.predict_columns if args.columns else getattr(client, args.method)
            answer = method(values, args.signature)
    except (OSError, ServingError, ValueError) as error:
        print(f"rest_client: {error}", file=sys.stderr)
        return 1
    print(json.dumps(_encoded(answer), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
