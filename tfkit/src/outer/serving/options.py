"""The options of the server."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of the server.

    Args:
        base: folder of the models, `base/name/number`.
        host: address to listen at.
        port: of REST; 0 for any that is free.
        grpc_port: of gRPC; 0 for any that is free.
        max_body: bytes of the largest request.
        batching_window: seconds that a request waits for others although it could run; with 0 requests are
            joined where they have to wait anyway.
        max_batch: rows at which nothing more is joined; 1 joins none.
        read_timeout: seconds for the head of a request, for its body, and for reading the response.
        num_versions: how many versions of each model are served, the newest.
        poll: seconds between two scans of the folder.
        threads: how many runs there are at once.
        trusted: whether models may have operations on files, other machines, processes or Python.
        log_requests: whether a line is logged for each request, by `tfkit.src.outer.serving.requests`.
    """

    base: Path
    host: str = "127.0.0.1"
    port: int = 8501
    grpc_port: int = 8500
    max_body: int = 16 * 2**20
    batching_window: float = 0.0
    max_batch: int = 64
    read_timeout: float = 60.0
    num_versions: int = 1
    poll: float = 1.0
    threads: int = 2
    trusted: bool = False
    log_requests: bool = False
