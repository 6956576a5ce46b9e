"""The errors of requests, with the codes that gRPC and TensorFlow share."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Status codes of gRPC, which TensorFlow's C library uses too.

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


MAX_STRINGS = 1 << 20  # in a request; freeing more of them holds Python's lock for too long
_LONGEST = 2_000  # letters in a message

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


def shortened(text: str, length: int = 100) -> str:
    """Returns the text, or its start if it is longer than `length` characters."""
    return text if len(text) <= length else f"{text[:length]}..."


class RequestError(Exception):
    """An error that is the response to a request.

    Args:
        code: the kind of error.
        message: the text for the client.
    """

    def __init__(self, code: int, message: str) -> None:
        # A message could contain whole bodies, and gRPC's clients accept no more than 8 KiB.
        super().__init__(shortened(message, _LONGEST))
        self.code = Code(code)
        self.message = shortened(message, _LONGEST)


def check_strings(count: int) -> None:
    """Raises an error for more strings than a request may have, before they are made.

    Raises:
        RequestError: for more than `MAX_STRINGS`.
    """
    if count > MAX_STRINGS:
        raise invalid(f"Expected {MAX_STRINGS:,} strings at most. Received: {count:,}")


def invalid(message: str) -> RequestError:
    """Returns an error about the content of a request."""
    return RequestError(Code.INVALID_ARGUMENT, message)
