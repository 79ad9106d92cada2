"""Does anything speak HTTP on a port? A server is ready when it answers any request with anything that begins like a response (L1)."""

from __future__ import annotations

from typing import Final

import trio

_ATTEMPT_SECONDS: Final = 5.0
_START: Final = b"HTTP/"


async def answers_http(host: str, port: int) -> bool:
    """Ask once; False when nobody listens, the connection ends, what comes is not HTTP, or nothing comes within 5 s. ``host`` is an IPv4 address: trying
    several, as for a name, costs three times as much, and servers that start slowly are asked many times."""
    with trio.move_on_after(_ATTEMPT_SECONDS), trio.socket.socket() as connection:
        try:
            await connection.connect((host, port))
            async with trio.SocketStream(connection) as stream:
                await stream.send_all(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
                return await _begins(stream)
        except (OSError, trio.BrokenResourceError):
            return False
    return False


async def _begins(stream: trio.SocketStream) -> bool:
    head = b""
    while len(head) < len(_START):
        data = await stream.receive_some(len(_START) - len(head))
        if not data:
            return False
        head += data
    return head == _START
