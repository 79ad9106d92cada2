"""A server that an agent might leave: ``rogue_server.py KIND PORT``, in the workspace of a sandbox. Standard library only; runs as a program, never imported.

Most kinds answer the request by which they are found ready, and misbehave from the first test on; those that begin with ``never-`` are not found ready.
"""

import os
import signal
import socket
import sys
import time
from itertools import repeat
from types import FrameType

GOOD = b'{"ok": true}'
HONEST = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(GOOD), GOOD)


def note_pid() -> None:
    """Remember this process, so that the test can see that it is gone."""
    with open("pids", "a") as file:
        file.write(f"{os.getpid()}\n")


def request(connection: socket.socket) -> str:
    """The next request's method and path; empty at the end of the connection. The tests send no bodies."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return ""
        data += more
    return " ".join(data.decode().split(" ")[:2])


def stream(connection: socket.socket, opening: bytes, piece: bytes) -> None:
    """Send without end."""
    connection.sendall(opening)
    for data in repeat(piece):
        connection.sendall(data)


def dribble(connection: socket.socket) -> None:
    """One byte a minute."""
    for byte in HONEST:
        connection.sendall(bytes([byte]))
        time.sleep(60)


def ignore(number: int, frame: FrameType | None) -> None:
    """Do not end."""


def misbehave(kind: str, connection: socket.socket) -> None:
    """Answer one request as the kind does."""
    match kind:
        case "garbage" | "never-http":
            connection.sendall(b"\x00\xff\xfe<html>nope")
            connection.close()
        case "endless-body":
            stream(connection, b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536)
        case "endless-headers":
            stream(connection, b"HTTP/1.1 200 OK\r\n", b"X-Flood: yes\r\n" * 500)
        case "byte-a-minute" | "never-more-than-a-byte":
            dribble(connection)
        case "redirects":
            connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n")
        case "wrong-for-ever":
            connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        case "dies":
            sys.exit(3)
        case "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "floods-its-log":
            print("x" * 300_000, flush=True)
            connection.sendall(HONEST)
        case _:
            connection.sendall(HONEST)


def serve(kind: str, listener: socket.socket) -> None:
    """One connection after the other, for ever."""
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                while asked := request(connection):
                    if asked == "GET /" and not kind.startswith("never-"):
                        connection.sendall(HONEST)
                    else:
                        misbehave(kind, connection)
            except OSError:
                continue


def main() -> None:
    """Listen on the port, or do what the kind does instead."""
    kind, port = sys.argv[1], int(sys.argv[2])
    note_pid()
    if kind in {"ignores-sigterm", "wrong-for-ever"}:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, ignore)
    if kind == "never-binds":
        time.sleep(600)
    with socket.create_server(("", 0 if kind == "never-on-its-port" else port)) as listener:
        if kind == "never-more-than-bound":
            sys.exit(3)
        serve(kind, listener)


if __name__ == "__main__":
    main()
