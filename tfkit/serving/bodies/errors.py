"""What a request can come to, with the codes that gRPC and TensorFlow share."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Status codes of gRPC, which are those of TensorFlow's C library too.

    Reference: https://grpc.io/docs/guides/status-codes/
    """

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


# TF Serving's HTTP statuses; all other codes are 500.
HTTP_STATUS = {
    Code.CANCELLED: 499,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 503,
    Code.FAILED_PRECONDITION: 412,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


class RequestError(Exception):
    """A request that gets an error for an answer.

    Args:
        code: what kind of error.
        message: what the caller reads.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = Code(code)
        self.message = message


def invalid(message: str) -> RequestError:
    """An error in what was sent."""
    return RequestError(Code.INVALID_ARGUMENT, message)
