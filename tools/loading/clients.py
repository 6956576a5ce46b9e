"""Clients with little overhead: one thread, raw sockets, each client one request after the other."""

import re
import selectors
import socket
import time

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def request_of(path, body):
    """Returns the bytes of a POST."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Client:
    """A connection, and the time of each answer."""

    def __init__(self, port, request):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request
        self._received = b""
        self.times = []

    def ask(self):
        self._received = b""
        self._start = time.perf_counter()
        self.socket.sendall(self._request)

    def receive(self):
        """Returns the body of the answer when it is complete, else `None`."""
        part = self.socket.recv(1 << 18)
        if not part:
            raise RuntimeError(f"The server hung up after {self._received[:200]!r}")
        self._received += part
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(_LENGTH.search(head)[1]):
            return None
        self.times.append(time.perf_counter() - self._start)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._received[:500])
        return body


def load(port, requests, seconds, check=None):
    """Returns the seconds that each answer took, with one client per request.

    Args:
        port: of the server.
        requests: bytes of the request of each client.
        seconds: how long.
        check: called with the number of the client and the body of each 100th answer.
    """
    clients = [Client(port, request) for request in requests]
    with selectors.DefaultSelector() as selector:
        for index, client in enumerate(clients):
            selector.register(client.socket, selectors.EVENT_READ, (index, client))
            client.ask()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key, _ in selector.select(1.0):
                index, client = key.data
                body = client.receive()
                if body is not None:
                    if check is not None and len(client.times) % 100 == 1:
                        check(index, body)
                    client.ask()
    for client in clients:
        client.socket.close()
    return [seconds for client in clients for seconds in client.times]
