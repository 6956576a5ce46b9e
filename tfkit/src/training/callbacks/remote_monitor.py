"""`RemoteMonitor`: sends the results of each epoch to a server."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.quoting import shown
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.training.callbacks.callback import Callback

_TIMEOUT = 10.0  # seconds


class RemoteMonitor(Callback):
    """Sends the results of each epoch to a server, by `POST`.

    It sends JSON: the number of the epoch, and the results. If the server does not answer within ten seconds,
    there is a warning, and training continues; nothing more is sent until it has answered. Redirects are not
    followed, because the other server would get the headers.

    Args:
        root: address of the server. Default: `"http://localhost:9000"`.
        path: where on the server. Default: `"/publish/epoch/end/"`.
        field: name of the field of a form that holds the JSON; has no effect with `send_as_json=True`.
            Default: `"data"`.
        headers: further headers of the request. Default: none.
        send_as_json: whether the JSON is the body of the request instead of a form field. Default: `False`.

    Raises:
        ValueError: for an address that is not `http` or `https`.

    Example:
        ```python
        model.fit(x, y, callbacks=[RemoteMonitor("http://localhost:9000", send_as_json=True)])
        ```
    """

    @with_checked_values
    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        if urllib.parse.urlsplit(root).scheme not in ("http", "https"):
            raise ValueError(f"`root` must be an address of http or https. Received: root={root!r}")
        self.root = root
        self.path = path
        self.field = field
        self.headers = headers
        self.send_as_json = send_as_json
        self._sending: threading.Thread | None = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Sends the epoch's results."""
        # JSON has no NumPy scalars.
        results = {name: np.asarray(value).tolist() for name, value in (logs or {}).items()}
        content = json.dumps({"epoch": epoch, **results})
        if self.send_as_json:
            body, kind = content, "application/json"
        else:
            body = urllib.parse.urlencode({self.field: content})
            kind = "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **(self.headers or {})}
        request = urllib.request.Request(self.root + self.path, body.encode(), headers)
        problem = self._send(request)
        if problem:
            warn(
                f"The results of epoch {epoch + 1} did not reach {self.root}: {problem}",
                UserWarning,
            )

    def _send(self, request: urllib.request.Request) -> str | None:
        """Sends a request; returns the problem, or `None`."""
        if self._sending is not None and self._sending.is_alive():
            return "it still has not answered an earlier request"
        problems: list[str] = []
        # A server that answers byte by byte must not stop the training: its thread is abandoned.
        self._sending = threading.Thread(target=_post, args=(request, problems), daemon=True)
        self._sending.start()
        self._sending.join(_TIMEOUT)
        if self._sending.is_alive():
            return f"it has not answered within {_TIMEOUT:g} seconds"
        return problems[0] if problems else None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Treats redirects as errors."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(request: urllib.request.Request, problems: list[str]) -> None:
    try:
        urllib.request.build_opener(_Stay).open(request, timeout=_TIMEOUT).close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        problems.append(shown(str(error) or type(error).__name__))
