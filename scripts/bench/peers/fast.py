"""The quickest server for a suite: blocking sockets, recorded bytes, no HTTP library. Each connection plays for itself. Run: fast.py RECORDING PORT."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

Rounds = list[list[bytes]]
Handle = Callable[[bytes, bytes], bytes]
"""(first line and headers, body) ► the whole response."""

REASONS = {200: b"OK", 201: b"Created", 204: b"No Content"}


def response(status: int, body: bytes) -> bytes:
    """A response's bytes."""
    head = b"HTTP/1.1 %d %s\r\n" % (status, REASONS.get(status, b"Refused"))
    if status == 204:
        return head + b"\r\n"
    return b"%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (head, len(body), body)


def recorded(file: str) -> Rounds:
    """The recording (see :mod:`replay`), as bytes."""
    return [[response(status, body.encode()) for status, body in answers] for answers in json.loads(Path(file).read_text())]


def player(rounds: Rounds) -> Handle:
    """Answers the requests of one connection."""
    number, answers, following = -1, rounds[0], 0

    def handle(head: bytes, body: bytes) -> bytes:
        nonlocal number, answers, following
        if head.startswith(b"POST /reset "):
            number = (number + 1) % len(rounds)
            answers, following = rounds[number], 0
        following += 1
        return answers[following - 1]

    return handle


def serve(connection: socket.socket, handle: Handle) -> None:
    """Answer one connection's requests until it ends. Clients may send head and body apart."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        while True:
            while (end := data.find(b"\r\n\r\n")) < 0:
                if not (piece := connection.recv(65536)):
                    return
                data += piece
            head, body = data[: end + 2], data[end + 4 :]
            length = content_length(head)
            while len(body) < length:
                body += connection.recv(65536)
            connection.sendall(handle(head, body[:length]))
            data = body[length:]


def content_length(head: bytes) -> int:
    """0 when none is given."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


def listen(port: int, each: Callable[[], Handle]) -> None:
    """One thread a connection, for ever."""
    with socket.create_server(("127.0.0.1", port), backlog=1024) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, each()), daemon=True).start()


def main() -> None:
    """Serve the recording on the port."""
    rounds = recorded(sys.argv[1])
    listen(int(sys.argv[2]), lambda: player(rounds))


if __name__ == "__main__":
    main()
