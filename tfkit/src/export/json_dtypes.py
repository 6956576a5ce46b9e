"""Lists the dtypes that TF Serving's REST interface has JSON for; others need gRPC."""

from __future__ import annotations

from collections.abc import Mapping

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import words
from tfkit.src.export.endpoints import Endpoint

JSON_DTYPES = words("""
    bool float32 float64 int8 int16 int32 int64 string uint8 uint32 uint64
""")


def warn_of_others(endpoints: Mapping[str, Endpoint]) -> None:
    """Warns of endpoints that REST requests cannot use."""
    for name, endpoint in endpoints.items():
        outputs = endpoint.signature.structured_outputs
        specs = [*endpoint.specs, *outputs.values()]
        others = sorted({spec.dtype.name for spec in specs} - JSON_DTYPES)
        if others:
            warn(
                f"Endpoint '{name}' has tensors of {', '.join(others)}: TF Serving answers it over gRPC, but "
                "not over REST. Cast them in the model if REST clients are to use it."
            )
