"""The properties of a finished request, for the metrics and for the request log."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tfkit.src.outer.serving.bodies.errors import Code, RequestError, shortened
from tfkit.src.outer.serving.metrics import Metrics
from tfkit.src.outer.serving.service import Answer

_log = logging.getLogger("tfkit.serving.requests")


@dataclasses.dataclass
class Call:
    """A request for a prediction, and its result. It contains no value of the request.

    Attributes:
        api: `"predict"`, `"classify"` or `"regress"`.
        entrypoint: `"REST"` or `"GRPC"`.
        peer: address of the client.
        model: name of the requested model.
        bytes_in: of the body.
        bytes_out: of the answer.
        answer: the model's outputs; `None` after an error.
    """

    api: str
    entrypoint: str
    peer: str
    model: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    answer: Answer | None = None


class Calls:
    """Counts requests, and optionally writes a line of JSON for each.

    Args:
        metrics: where they are counted.
        is_known: whether there is a model of a name. All others are counted under one name, so that no client
            fills the memory with names.
        logged: whether there are lines, to the logger `tfkit.src.outer.serving.requests`.
    """

    def __init__(
        self, metrics: Metrics, is_known: Callable[[str], bool], logged: bool = False
    ) -> None:
        self._metrics = metrics
        self._is_known = is_known
        self._logged = logged

    @contextlib.contextmanager
    def counted(self, call: Call) -> Iterator[None]:
        """Context manager that counts and logs a call at its end, also after an error."""
        start = time.perf_counter()
        code = Code.UNKNOWN
        try:
            yield
            code = Code.OK
        except RequestError as error:
            code = error.code
            raise
        except Exception as error:
            # an error of aiohttp: too large, too late
            is_theirs = getattr(error, "status", 500) < 500
            code = Code.INVALID_ARGUMENT if is_theirs else Code.INTERNAL
            raise
        except BaseException:
            code = Code.CANCELLED
            raise
        finally:
            self._note(call, code, time.perf_counter() - start)

    def _note(self, call: Call, code: Code, seconds: float) -> None:
        metrics = self._metrics
        # A name that no model has is dropped: clients could add labels without limit.
        name = call.model if self._is_known(call.model) else ""
        metrics.requests.add(name, code.name)
        metrics.request_latency.add(name, call.api, call.entrypoint, value=seconds * 1e6)
        if call.answer is not None:
            count = call.answer.num_examples
            metrics.examples.add(name, by=count)
            metrics.examples_of_request.add(name, value=count)
            metrics.runtime_latency.add(
                name, call.api.capitalize(), "TF1", value=call.answer.seconds * 1e6
            )
        if self._logged:
            _log.info("%s", self._line(call, code, seconds))

    def _line(self, call: Call, code: Code, seconds: float) -> str:
        answer = call.answer
        fields = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "peer": call.peer,
            "entrypoint": call.entrypoint,
            "api": call.api,
            "model": shortened(call.model),
            "version": None if answer is None else answer.servable.version,
            "signature": None if answer is None else answer.signature_name,
            "status": code.name,
            "examples": None if answer is None else answer.num_examples,
            "bytes_in": call.bytes_in,
            "bytes_out": call.bytes_out,
            "ms": round(seconds * 1e3, 3),
        }
        return json.dumps(fields)  # in ASCII: no control characters, one line
