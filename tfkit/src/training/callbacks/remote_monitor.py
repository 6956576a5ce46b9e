"""`RemoteMonitor`: sends the results of each epoch to a server."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfkit.src.errors.frames import warn
from tfkit.src.training.callbacks.callback import Callback

_TIMEOUT = 10.0  # seconds


class RemoteMonitor(Callback):
    """Sends the results of each epoch to a server, by `POST`.

    It sends JSON: the number of the epoch, and the results. If the server does not answer, there is a
    warning, and training continues.

    Args:
        root: address of the server. Default: `"http://localhost:9000"`.
        path: where on the server. Default: `"/publish/epoch/end/"`.
        field: name of the field of a form that holds the JSON; without effect for `send_as_json=True`.
            Default: `"data"`.
        headers: further headers of the request. Default: none.
        send_as_json: whether the JSON is the body of the request, and not a form. Default: `False`.

    Raises:
        ValueError: for an address that is not `http` or `https`.

    Example:
        ```python
        model.fit(x, y, callbacks=[RemoteMonitor("http://localhost:9000", send_as_json=True)])
        ```
    """

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

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Sends the epoch's results."""
        results = {name: np.asarray(value).tolist() for name, value in (logs or {}).items()}
        content = json.dumps({"epoch": epoch, **results})
        if self.send_as_json:
            body, kind = content, "application/json"
        else:
            body = urllib.parse.urlencode({self.field: content})
            kind = "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **(self.headers or {})}
        request = urllib.request.Request(self.root + self.path, body.encode(), headers)
        try:
            urllib.request.urlopen(request, timeout=_TIMEOUT).close()
        except OSError as error:
            warn(
                f"The results of epoch {epoch + 1} did not reach {self.root}: {error}", UserWarning
            )
