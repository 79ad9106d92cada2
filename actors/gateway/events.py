"""Server-sent events, as far as a relay needs them: where one ends, and what it carries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.gateway.interfaces import UpstreamFailed

MAX_EVENT: Final = 32 * 1024 * 1024
"""Bytes of one event. The largest ones carry a whole answer again, at the end of a stream of responses."""

_BLANKS: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")
_OVERLAP: Final = 3
_BOM: Final = b"\xef\xbb\xbf"


class Whole:
    """Cuts a stream behind its last whole event, so that an agent never sees half of one, whatever happens to its rest."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._seam = b""

    def feed(self, data: bytes) -> bytes:
        """All events that are whole now, as they came; ``b""`` when there is none. Raises UpstreamFailed for one without end."""
        if not self._rest and data.endswith(b"\n\n"):
            return data
        # Only the seam is looked at again, so an event that comes in very many pieces costs no more than one that comes in few.
        near = self._seam + data
        end = max(at + len(blank) if (at := near.rfind(blank)) >= 0 else 0 for blank in _BLANKS) - len(self._seam)
        if end <= 0:
            self._keep(data)
            return b""
        whole = b"".join([*self._rest, data[:end]])
        self._rest, self._size, self._seam = [], 0, b""
        self._keep(data[end:])
        return whole

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_EVENT:
            raise UpstreamFailed(f"an event of the provider's stream is larger than {MAX_EVENT >> 20} MiB")
        if data:
            self._rest.append(data)
            self._seam = (self._seam + data)[-_OVERLAP:]

    @property
    def rest(self) -> bytes:
        """What has come of the next event."""
        return b"".join(self._rest)


def events(data: bytes) -> Iterator[bytes]:
    """The whole events of ``data``, each with its blank line. A mark of UTF-8 in front is none of them."""
    data = data.removeprefix(_BOM)
    unix = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
    for part in unix.split(b"\n\n"):
        if part.strip():
            yield part + b"\n\n"


def payload(event: bytes) -> bytes:
    """What an event carries: its data lines, joined."""
    lines = event.split(b"\n")
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))


def event(data: bytes, name: str | None = None) -> bytes:
    """An event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + data + b"\n\n"
