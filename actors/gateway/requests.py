"""HTTP requests out of bytes that arrive in any pieces; no sockets here. The syntax is llhttp's (through httptools)."""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs
import httptools

from actors.gateway.interfaces import Headers


@attrs.frozen
class SizeLimits:
    """Bytes of a request's head, of its body, and of what frames the body: sizes of chunks, their extensions, trailers."""

    head: int = 64 * 1024
    body: int = 64 * 1024 * 1024
    frames: int = 8 * 1024 * 1024


SIZES: Final = SizeLimits()

_UPGRADING: Final = frozenset({"connection", "upgrade", "http2-settings"})


class BadRequest(Exception):
    """What came is no request that is taken; the connection cannot be used on.

    Attributes:
        status: the HTTP status that says so.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@attrs.frozen
class HttpRequest:
    """A whole request.

    Attributes:
        target: path and query.
        headers: names in lower case.
        keep_alive: whether the client wants the connection kept.
        modern: HTTP/1.1, so that an answer may come in chunks.
    """

    method: str
    target: str
    headers: Headers
    body: bytes
    keep_alive: bool
    modern: bool = True

    def header(self, name: str) -> str | None:
        """The first header of this name (lower case)."""
        return next((value for key, value in self.headers if key == name), None)


class RequestReader:
    """Reads the requests of one connection. Whole ones wait in :attr:`ready`, so a client may send the next before it has the answer.

    Attributes:
        continues: how many requests so far want to be told to go on (``Expect: 100-continue``).
    """

    def __init__(self, limits: SizeLimits = SIZES) -> None:
        self.ready: deque[HttpRequest] = deque()
        self.continues = 0
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self._begin()

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises BadRequest."""
        self._came += len(data)
        while data:
            data = self._parse(data)
        if self._in_head and self._came > self._limits.head:
            raise BadRequest(431, f"the request's headers are larger than {self._limits.head} bytes")
        if self._came - self._size > self._limits.head + self._limits.frames:
            raise BadRequest(431, f"what frames the request's body is larger than {self._limits.frames >> 20} MiB")

    @property
    def idle(self) -> bool:
        """Whether nothing of a further request has come."""
        return self._in_head and not self._came and not self.ready

    @property
    def held(self) -> int:
        """Bytes of bodies that are kept here."""
        return self._size + sum(len(request.body) for request in self.ready)

    def _parse(self, data: bytes) -> bytes:
        """Parse it; what of it is still to be parsed."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            return self._not_upgraded(data[error.args[0] :])
        except httptools.HttpParserCallbackError as error:
            raise self._problem or BadRequest(400, "the request cannot be read") from error
        except httptools.HttpParserError as error:
            raise BadRequest(400, f"this is no HTTP request: {error}") from error
        return b""

    def _not_upgraded(self, rest: bytes) -> bytes:
        """A client that would like another protocol (some offer HTTP/2 with their first request) must take HTTP/1.1: the same, without the wish."""
        request = self.ready.pop()
        if request.method == "CONNECT":
            raise BadRequest(405, "the gateway is no proxy")
        named = dict(request.headers)
        lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers if name not in _UPGRADING)]
        if "close" in named.get("connection", "").lower():
            lines.append("connection: close")
        self._parser = httptools.HttpRequestParser(self)
        self._begin()
        self._came = len(rest)
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + rest

    @property
    def target(self) -> str:
        """Of the request that is being read, as far as it has come."""
        return self._target.decode("latin-1")

    def _begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._came = 0
        self._size = 0
        self._in_head = True
        self._problem: BadRequest | None = None

    # What the parser calls.

    def on_url(self, part: bytes) -> None:
        """A piece of the target."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header. Behind the body it is a trailer, which says nothing about what was taken already."""
        if self._in_head:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        """The body begins."""
        self._in_head = False
        named = dict(self._headers)
        length = named.get("content-length", "")
        if length.isdecimal() and int(length) > self._limits.body:
            self._too_large()
        if named.get("expect", "").lower() == "100-continue":
            self.continues += 1

    def on_body(self, part: bytes) -> None:
        """A piece of the body."""
        self._size += len(part)
        if self._size > self._limits.body:
            self._too_large()
        self._body.append(part)

    def on_message_complete(self) -> None:
        """The request is whole."""
        parser = self._parser
        self.ready.append(
            HttpRequest(
                parser.get_method().decode(),
                self.target,
                tuple(self._headers),
                b"".join(self._body),
                parser.should_keep_alive(),
                parser.get_http_version() == "1.1",
            )
        )
        self._begin()

    def _too_large(self) -> None:
        self._problem = BadRequest(413, f"the request's body is larger than {self._limits.body >> 20} MiB")
        raise self._problem
