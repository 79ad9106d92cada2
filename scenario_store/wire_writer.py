"""Appends to a scenario's recording (:mod:`scenario_store.wire`). Blocks for as long as the disk takes; made for one worker thread at a time."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

from scenario_store.atomic import host_faults, write_all
from scenario_store.parts import Cut, cut
from scenario_store.wire import DIGEST_BYTES, HEADER, WINDOW, Kind, RequestHead, WireDamaged, delta, pack, places, record

Redact: TypeAlias = Callable[[bytes], bytes]
"""Takes secrets out of bytes."""

_SAMPLES: Final = 16
_ODD: Final = "surrogateescape"


@attrs.frozen
class Piece:
    """Bytes of an answer as they came, ``seconds`` after the request."""

    seconds: float
    data: bytes


@attrs.frozen
class _Last:
    """A body that was recorded, with the numbers of its parts."""

    cut: Cut
    numbers: list[int]


class WireWriter:
    """A recording that is open for appending.

    Every method adds all of what it is given or nothing, and raises HostFault when the disk is full or fails; later ones may succeed.

    Attributes:
        put_aside: a damaged recording that was found and moved away; None when there was none.
    """

    def __init__(self, path: Path, redact: Redact) -> None:
        self._path = path
        self._redact = redact
        self._known: dict[bytes, int] = {}
        self._requests = 0
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=WINDOW)
        self.put_aside: Path | None = None
        self._last: _Last | None = None
        self._torn = False
        self._size = self._recover()
        with host_faults("open", path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not self._size:
            self._append(HEADER)

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def request(self, head: RequestHead, body: bytes) -> int:
        """A request, whose head holds no secrets; its number in the file."""
        now, fresh = self._numbered(body.decode("utf-8", _ODD))
        numbers = now.numbers
        base = self._base(numbers)
        told = numbers if base is None else delta(array("I", base[1]), numbers)
        content = {**attrs.asdict(head), "base": None if base is None else base[0], "parts": told}
        out = [record(Kind.PART, digest + pack(self._redact(part))) for digest, part in fresh]
        self._append(b"".join([*out, record(Kind.REQUEST, pack(_json(content)))]))
        self._last = now
        self._known |= {digest: len(self._known) + at for at, (digest, _) in enumerate(fresh)}
        self._recent.append((self._requests, array("I", numbers).tobytes()))
        self._requests += 1
        return self._requests - 1

    @property
    def held(self) -> int:
        """Characters of the last request, which is kept for the next: what they share is not looked at again."""
        return 0 if self._last is None else len(self._last.cut.text)

    def forget(self) -> None:
        """Do not keep it; that costs time, and nothing else."""
        self._last = None

    def answer(self, request: int, pieces: Sequence[Piece], facts: dict[str, Any]) -> None:
        """More of the answer to a request: bytes that hold no secrets, and what is known with them (:class:`scenario_store.recording.Answer`)."""
        content = {"request": request, **facts, "ms": [round(piece.seconds * 1000) for piece in pieces], "sizes": [len(piece.data) for piece in pieces]}
        self._append(record(Kind.ANSWER, pack(_json(content) + b"\n" + b"".join(piece.data for piece in pieces))))

    def lost(self, count: int, reason: str) -> None:
        """Exchanges could not be recorded."""
        self._append(record(Kind.LOST, pack(_json({"count": count, "reason": reason}))))

    def _numbered(self, text: str) -> tuple[_Last, list[tuple[bytes, bytes]]]:
        """A body's parts by number, and those that are new: digest and content."""
        last = self._last
        shared = 0 if last is None else last.cut.shared(text)
        now = cut(text, None if last is None else last.cut, shared)
        same = bisect_right(now.ends, shared)
        numbers = last.numbers[:same] if last is not None else []
        new: dict[bytes, int] = {}
        fresh: list[tuple[bytes, bytes]] = []
        for part in (part.encode("utf-8", _ODD) for part in now.parts(same)):
            digest = digest_of(part)
            number = self._known.get(digest, new.get(digest))
            if number is None:
                number = new[digest] = len(self._known) + len(new)
                fresh.append((digest, part))
            numbers.append(number)
        return _Last(now, numbers), fresh

    def _base(self, numbers: Sequence[int]) -> tuple[int, bytes] | None:
        """The recent request that shares most with these parts, as far as samples tell; of equal ones the latest."""
        samples = [array("I", [number]).tobytes() for number in numbers[:: max(1, len(numbers) // _SAMPLES)]]
        counted = [(sum(sample in recent[1] for sample in samples), recent[0], recent) for recent in self._recent]
        best = max(counted, default=None)
        return best[2] if best is not None and best[0] else None

    def _append(self, data: bytes) -> None:
        with host_faults("write", self._path):
            if self._torn:
                os.ftruncate(self._descriptor, self._size)
            self._torn = True
            try:
                write_all(self._descriptor, data)
            except OSError:
                os.ftruncate(self._descriptor, self._size)
                self._torn = False
                raise
        self._torn = False
        self._size += len(data)

    def _recover(self) -> int:
        """Read what is there, cut off a torn tail, move a damaged file away; the bytes that are left."""
        with host_faults("read", self._path):
            if not self._path.exists():
                return 0
            data = self._path.read_bytes()
        try:
            size = self._learn(data)
        except WireDamaged:
            self.put_aside = self._free_name()
            with host_faults("rename", self._path):
                self._path.rename(self.put_aside)
            self._known, self._requests = {}, 0
            return 0
        if size < len(data):
            with host_faults("repair", self._path):
                os.truncate(self._path, size)
        return size

    def _learn(self, data: bytes) -> int:
        size = len(HEADER) if data.startswith(HEADER) else 0
        for place in places(self._path, data):
            size = place.end
            if place.kind is Kind.PART:
                self._known[data[place.at : place.at + DIGEST_BYTES]] = len(self._known)
            elif place.kind is Kind.REQUEST:
                self._requests += 1
        return size

    def _free_name(self) -> Path:
        number = 1
        while (name := self._path.with_name(f"{self._path.stem}.damaged-{number}")).exists():
            number += 1
        return name


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def digest_of(part: bytes) -> bytes:
    """What parts are known by."""
    return hashlib.sha256(part).digest()[:DIGEST_BYTES]
