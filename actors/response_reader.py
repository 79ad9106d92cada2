"""One HTTP response out of bytes that arrive in any pieces; no sockets here.

The syntax is llhttp's (through httptools). What is decided here is everything around it: where a response ends, how much of one is accepted, what is not a
response at all, and whether the connection may carry another.

It reads what the clients that people test with read, as long as it is clear where the response ends: bare line feeds, a missing reason phrase, spaces
after a chunk size, and Content-Length beside chunked (chunked holds, RFC 9112 section 6.3). Bodies are taken as they are: no Content-Encoding was asked
for, none is undone.
"""

from __future__ import annotations

from typing import Final

import attrs
import httptools

from stamina.exchange import Answer, NoResponse, Response, Trouble

KNOWN: Final = 512
"""How many heads are remembered for a server."""

KNOWN_BYTES: Final = 512
"""Longer heads are not remembered."""

_EMPTY_LINE: Final = b"\r\n\r\n"

NO_CONTENT: Final = frozenset({204, 304})
"""Statuses whose responses end with their headers, whatever these claim."""

SHOWN_BYTES: Final = 60
"""How much of something that is not HTTP a person is shown."""


@attrs.frozen
class SizeLimits:
    """Bytes of a response's head (interim 1xx responses included) and of all that follows it, chunk sizes and trailers included."""

    head_bytes: int = 64 * 1024
    body_bytes: int = 4 * 1024 * 1024


SIZES: Final = SizeLimits()


@attrs.frozen
class Head:
    """What the head of a response decides: its status, how many bytes of body follow, and whether the connection can carry another response."""

    status: int
    length: int
    reusable: bool


@attrs.define
class KnownHeads:
    """What the parser made of heads that it has seen. A server says the same ones over and over, and the same bytes always mean the same.

    Only for responses that arrive whole and end with their Content-Length, or have no body: there the head alone decides about everything else.
    """

    _known: dict[bytes, Head] = attrs.field(factory=dict, init=False)

    def recall(self, data: bytes) -> tuple[Response, bool] | None:
        """The response that ``data``, the first bytes on the connection since the request, is when its head is known and nothing is missing or left over; and
        whether the connection can carry another one."""
        end = data.find(_EMPTY_LINE) + len(_EMPTY_LINE)
        head = self._known.get(data[:end])
        if head is None or head.length != len(data) - end:
            return None
        return Response(head.status, data[end:]), head.reusable

    def learn(self, data: bytes, reader: ResponseReader) -> None:
        """Remember the head of a response that ``reader`` made of ``data`` in one piece, if such a head decides about everything."""
        found = data.find(_EMPTY_LINE, 0, KNOWN_BYTES)
        end = found + len(_EMPTY_LINE)
        # Bare line feeds are line ends to the parser: with them the first empty line may be another one.
        if found < 0 or data.count(b"\n", 0, end) != data.count(b"\r\n", 0, end):
            return
        head = reader.deciding_head(len(data) - end)
        if head is None:
            return
        if len(self._known) >= KNOWN:
            # Dates and tags make new heads all the time; the oldest are of no use any more.
            self._known.clear()
        self._known[data[:end]] = head


class ResponseReader:
    """Reads one response. Feed it until it answers; when the connection ends first, ask :meth:`end`.

    Attributes:
        received: bytes fed so far.
    """

    def __init__(self, limits: SizeLimits) -> None:
        self._limits = limits
        self.received = 0
        self._first = b""
        self._body = bytearray()
        self._status = 0
        self._in_body = False
        self._done = False
        self._reusable = False
        self._length: bytes | None = None
        self._coding: bytes | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    @property
    def reusable(self) -> bool:
        """Whether the response is complete, nothing came after it, and the server keeps the connection open for another."""
        return self._done and self._reusable

    def feed(self, data: bytes) -> Answer | None:
        """Take what was read. Returns the answer once there is one, None while more must come."""
        if not self.received:
            self._first = data[:SHOWN_BYTES]
        self.received += len(data)
        problem = self._parse(data)
        if self._done:
            return self._response()
        if problem is not None:
            return self._refused(Trouble.GARBAGE, f"the answer is not HTTP ({problem}); it begins with {self._first!r}")
        return self._oversize()

    def end(self) -> Answer:
        """The connection ended: the answer is complete if its body ends there, else it was cut short."""
        if self._in_body and self._ends_with_connection():
            return self._response()
        if not self.received:
            return self._refused(Trouble.CLOSED, "the server closed the connection without an answer")
        part = "body" if self._in_body else "headers"
        return self._refused(Trouble.CLOSED, f"the server closed the connection in the middle of the answer's {part} ({self.received} bytes came)")

    def deciding_head(self, rest: int) -> Head | None:
        """The head, if it decided that the body is the ``rest`` bytes that came behind it, no more and no less."""
        if not self._done or self._coding is not None or len(self._body) != rest:
            return None
        says = b"0" if self._status in NO_CONTENT else self._length
        return Head(self._status, rest, self._reusable) if says is not None and says.isdigit() and int(says) == rest else None

    def _parse(self, data: bytes) -> str | None:
        """Feed the parser; one phrase when it objects."""
        assert self._parser is not None, "an answered reader is not fed again"
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return "it switches to another protocol"
        except httptools.HttpParserError as error:
            self._reusable = False
            return str(error)
        return None

    def _oversize(self) -> Answer | None:
        head, body = self._limits.head_bytes, self._limits.body_bytes
        if not self._in_body:
            return self._refused(Trouble.TOO_LARGE, f"the answer's headers are larger than {head} bytes") if self.received > head else None
        return self._refused(Trouble.TOO_LARGE, f"the answer's body is larger than {body} bytes") if self.received > head + body else None

    def _ends_with_connection(self) -> bool:
        """Whether neither a length nor chunks say where the body ends (RFC 9112 section 6.3)."""
        if self._coding is not None:
            return self._coding.split(b",")[-1].strip().lower() != b"chunked"
        return self._length is None

    def _response(self) -> Response:
        self._parser = None  # Parser and reader hold each other; let go, so that no cycle waits for the collector.
        return Response(self._status, bytes(self._body))

    def _refused(self, trouble: Trouble, detail: str) -> NoResponse:
        self._parser = None
        return NoResponse(trouble, detail)

    # What the parser calls. After the end of the response every call means that there is more than was asked for.

    def on_message_begin(self) -> None:
        """The parser saw a status line begin."""
        if self._done:
            self._reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parser saw a header, or a trailer: those change nothing."""
        if self._in_body or self._done:
            return
        # Their lengths tell the two that matter from almost all others without a lower-case copy of each name.
        if len(name) == 14 and name.lower() == b"content-length":
            self._length = value
        elif len(name) == 17 and name.lower() == b"transfer-encoding":
            self._coding = value

    def on_headers_complete(self) -> None:
        """The parser saw the empty line."""
        if self._done:
            self._reusable = False
            return
        assert self._parser is not None
        self._status = self._parser.get_status_code()
        self._in_body = self._status >= 200

    def on_body(self, data: bytes) -> None:
        """The parser saw a piece of the body."""
        if not self._done:
            self._body += data

    def on_message_complete(self) -> None:
        """The parser saw the end of a response: the one asked for, unless it was interim (1xx) and another follows."""
        if self._done:
            return
        if not self._in_body:
            self._length = self._coding = None
            return
        assert self._parser is not None
        self._done = True
        self._reusable = self._parser.should_keep_alive() and not self._claims_too_much()

    def _claims_too_much(self) -> bool:
        """Whether a status without a body announces one: it may still be on its way, and must not be read as the next answer."""
        return self._status in NO_CONTENT and (self._coding is not None or self._length not in (None, b"0"))
