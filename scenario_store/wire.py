"""The records of a scenario's ``wire.bin``: what its agent and its models said to each other. Documented in docs/formats.md.

::

    stamina wire 1\\n
    record, record, …       "WIRE" | kind, one byte | bytes of content, u32 | crc32 of kind and content, u32 | content

Numbers are little-endian. Only ever appended; a write that was cut short costs the exchange that it was about.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import attrs
import zstandard

from stamina.errors import InputError

NAME: Final = "wire.bin"
HEADER: Final = b"stamina wire 1\n"
MAGIC: Final = b"WIRE"
DIGEST_BYTES: Final = 16
WINDOW: Final = 8
"""How many requests back one may be told as what is new in it."""

_HEAD: Final = struct.Struct("<4sBII")
_LARGEST: Final = 1 << 30


class Kind(IntEnum):
    """What a record holds; its content is compressed (zstd)."""

    PART = 1
    """A part of a request: the first 16 bytes of the sha256 of what was sent, then the compressed text. Parts count from 0 in the order of the file."""
    REQUEST = 2
    """JSON, see :class:`RequestHead`. Requests count from 0 in the order of the file."""
    ANSWER = 3
    """A line of JSON, then bytes of an answer's body: see :class:`scenario_store.recording.Answer`."""
    LOST = 4
    """JSON: ``count`` exchanges were not recorded before this place, and ``reason``."""


class WireDamaged(InputError):
    """A recording cannot be read."""

    def __init__(self, path: Path, at: int, what: str) -> None:
        super().__init__(f"{path}, byte {at}: {what}. Put back a copy of the file; without it this scenario cannot be replayed, all else is not affected")


@attrs.frozen
class RequestHead:
    """A request, without its body.

    Attributes:
        turn, attempt, call: of the agent call that it belongs to.
        number: counts the requests of the scenario; the same as in usage.jsonl.
        protocol, operation, model, path, headers, stream: as they went to the upstream; no credentials.
        at: when it came, seconds since 1970.
    """

    turn: int
    attempt: int
    call: int
    number: int
    protocol: str
    operation: str
    model: str
    path: str
    headers: tuple[tuple[str, str], ...]
    stream: bool
    at: float

    @property
    def key(self) -> tuple[int, int, int]:
        """Which agent call."""
        return self.turn, self.attempt, self.call


@attrs.frozen
class Place:
    """Where a record is.

    Attributes:
        at: offset of its content.
        size: bytes of it.
        end: offset behind it.
    """

    kind: Kind
    at: int
    size: int

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.at + self.size


def record(kind: Kind, content: bytes) -> bytes:
    """A record's bytes."""
    return _HEAD.pack(MAGIC, kind, len(content), _crc(kind, content)) + content


def places(path: Path, data: bytes) -> Iterator[Place]:
    """The whole records of a file, up to a torn tail.

    Raises WireDamaged when it is no recording of this version, and for what cannot be read with a whole record behind it.
    """
    if not data.startswith(HEADER):
        if HEADER.startswith(data):
            return
        raise WireDamaged(path, 0, f"this is no recording of this version of stamina (it begins with {data[:16]!r}, not {HEADER!r})")
    at = len(HEADER)
    while (found := _place(data, at)) is not None:
        yield found
        at = found.end
    if any(_place(data, later) is not None for later in _starts(data, at + 1)):
        raise WireDamaged(path, at, "this is not what was written here (its checksum does not fit)")


def _starts(data: bytes, at: int) -> Iterator[int]:
    while (at := data.find(MAGIC, at)) >= 0:
        yield at
        at += 1


def _place(data: bytes, at: int) -> Place | None:
    """The record at an offset, None when there is no whole one."""
    if at + _HEAD.size > len(data):
        return None
    magic, kind, size, crc = _HEAD.unpack_from(data, at)
    start = at + _HEAD.size
    if magic != MAGIC or kind not in iter(Kind) or start + size > len(data) or _crc(kind, memoryview(data)[start : start + size]) != crc:
        return None
    return Place(Kind(kind), start, size)


def _crc(kind: int, content: bytes | memoryview) -> int:
    return zlib.crc32(content, zlib.crc32(bytes([kind])))


class _Own(threading.local):
    """A thread's own: making one costs more than using it, and two threads must not use one."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=3)
        self.decompressor = zstandard.ZstdDecompressor()


_OWN: Final = _Own()


def pack(data: bytes) -> bytes:
    """Compressed."""
    return _OWN.compressor.compress(data)


def unpack(data: bytes) -> bytes:
    """What :func:`pack` was given. Raises ValueError when it was not."""
    try:
        return _OWN.decompressor.decompress(data, max_output_size=_LARGEST)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def delta(base: Sequence[int], now: Sequence[int]) -> list[Any]:
    """``now`` told as pieces of ``base`` (``[start, count]``) and new numbers."""
    same = next((at for at, (one, two) in enumerate(zip(base, now, strict=False)) if one != two), min(len(base), len(now)))
    known: Mapping[int, int] = {number: at for at, number in enumerate(base[same:], same)}
    told: list[Any] = [[0, same]] if same else []
    here = same
    while here < len(now):
        at = known.get(now[here])
        if at is None:
            told.append(now[here])
            here += 1
            continue
        count = 1
        while here + count < len(now) and at + count < len(base) and now[here + count] == base[at + count]:
            count += 1
        told.append([at, count])
        here += count
    return told


def applied(base: Sequence[int], told: Sequence[Any]) -> list[int]:
    """What :func:`delta` was given as ``now``. Raises ValueError, TypeError, when that cannot be."""
    now: list[int] = []
    for piece in told:
        if isinstance(piece, int):
            now.append(piece)
        else:
            start, count = piece
            if not 0 <= start <= start + count <= len(base):
                raise ValueError("it refers to parts that are not there")
            now += base[start : start + count]
    return now
