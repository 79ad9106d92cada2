"""HTTP answers of providers out of bytes that arrive in any pieces; no sockets here. The syntax is llhttp's (through httptools)."""

from __future__ import annotations

import zlib
from typing import Final
from typing import Protocol as Interface

import httptools

from actors.gateway.interfaces import Headers, UpstreamFailed

HEAD_BYTES: Final = 64 * 1024
BEGINNING: Final = 7
"""Bytes that are shown of what is no HTTP: fewer than any secret has."""
BODILESS: Final = frozenset({204, 304})
FRAMING: Final = frozenset({"content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive", "trailer", "upgrade", "proxy-authenticate"})
"""Headers that belong to one connection: the gateway frames its answers itself."""


class Decoder(Interface):
    """Undoes a content coding, piece by piece."""

    def decompress(self, data: bytes, /) -> bytes:
        """What these bytes decode to."""
        ...


class AnswerReader:
    """Reads one answer. Feed it what comes; take the body's bytes from :meth:`take`.

    Attributes:
        status: 0 until the head is there.
        headers: without framing.
        begun, done: whether the head, and the whole answer, are there.
        reusable: nothing came after it, and the server keeps the connection open.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = ()
        self.begun = self.done = self.reusable = False
        self.received = 0
        self._all: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._decoder: Decoder | None = None
        self._bounded = False
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises UpstreamFailed when it is no HTTP, or not what was asked for."""
        self.received += len(data)
        assert self._parser is not None, "an answer that is whole is not fed"
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            raise UpstreamFailed("the provider switches to another protocol") from error
        except httptools.HttpParserCallbackError as error:
            raise UpstreamFailed(f"the provider's answer cannot be decoded: {error.__context__ or error}") from error
        except httptools.HttpParserError as error:
            if not self.done:
                raise UpstreamFailed(f"the provider's answer is no HTTP ({error}); it begins with {data[:BEGINNING]!r}") from error
            self.reusable = False
        if not self.begun and self.received > HEAD_BYTES:
            raise UpstreamFailed(f"the provider's headers are larger than {HEAD_BYTES} bytes")

    def end(self) -> None:
        """The connection ended: the answer is whole if nothing else says where it ends, else it was cut off (UpstreamFailed)."""
        if not self.begun:
            raise UpstreamFailed(
                "the provider closed the connection without an answer" if not self.received else "the provider's answer was cut off in its headers"
            )
        if not self.done and self._bounded:
            raise UpstreamFailed(f"the provider's answer was cut off after {self.received} bytes")
        self.done = True

    def take(self) -> bytes:
        """The body's bytes so far, once."""
        body, self._body = self._body, []
        return body[0] if len(body) == 1 else b"".join(body)

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header. Behind the body it is a trailer; behind the answer it is no part of it."""
        if not self.begun:
            self._all.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        """The body begins. Answers of status 1xx come before the one that counts."""
        assert self._parser is not None
        if self.begun:
            return  # an answer that nobody asked for follows
        status = self._parser.get_status_code()
        if status < 200:
            self._all = []
            return
        named = dict(self._all)
        self.status = status
        self.headers = tuple((name, value) for name, value in self._all if name not in FRAMING)
        self._bounded = "content-length" in named or "chunked" in named.get("transfer-encoding", "").lower()
        self._decoder = _decoder(named.get("content-encoding", "identity").lower())
        self.begun = True

    def on_body(self, part: bytes) -> None:
        """A piece of the body."""
        if not self.done:
            self._body.append(part if self._decoder is None else self._decoder.decompress(part))

    def on_message_complete(self) -> None:
        """The answer is whole, if it is one. What follows it was not asked for, and would be taken for the answer to the next request."""
        if not self.begun:
            return
        assert self._parser is not None
        self.reusable = not self.done and self._parser.should_keep_alive() and (self._bounded or self.status in BODILESS)
        self.done = True

    def close(self) -> None:
        """Let go of the parser: it and this object hold each other, and no cycle should wait for the collector."""
        self._parser = None


def _decoder(coding: str) -> Decoder | None:
    """Nothing but identity is asked for; gzip comes all the same from some proxies."""
    if coding in ("identity", ""):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    raise ValueError(f"content coding {coding[:40]!r} was not asked for")
