"""One line of a journal, and what a file of such lines holds.

A line is a JSON object with fixed keys in fixed order::

    {"digest":"<32 hex>","seq":3,"at":1767225600.25,"type":"CallEnded","data":{…},"prev":"<32 hex>"}

``digest`` is the first half of the sha256 of the line's bytes without the ``digest`` entry: ``{`` followed by all that stands behind the first comma, up to the
newline. It is taken over bytes, so nothing has to agree on a canonical JSON. ``prev`` is the digest of the line before, zeros on the first. So no line can be
changed, dropped, added or moved without a trace.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from stamina.errors import InputError

ORIGIN: Final = "0" * 32
"""``prev`` of a journal's first record."""

_LINE = re.compile(rb'\{"digest":"([0-9a-f]{32})",(.*)\}', re.DOTALL)
_START = re.compile(rb'\{"digest":"[0-9a-f]{32}","seq":\d+,"at":')


class JournalDamaged(InputError):
    """A line in the middle of a journal is not what was written.

    Attributes:
        path: the journal.
        line: the damaged line, from 1.
        what: what is wrong with it.
    """

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(
            f"{path}, line {line}: {what}. The journal was changed or the disk lost data after it was written. "
            f"Put back a copy of this file, or move the scenario's folder {path.parent} away to play it from the start; the other scenarios are not affected"
        )
        self.path = path
        self.line = line
        self.what = what


@attrs.frozen
class Record:
    """One line.

    Attributes:
        seq: its number in the journal, from 0.
        at: when it was appended, in seconds since 1970 (UTC).
        type: names the class of the event.
        data: the event's fields, as JSON.
        prev: the digest of the record before.
        digest: of this one.
    """

    seq: int
    at: float
    type: str
    data: Mapping[str, Any]
    prev: str
    digest: str


@attrs.frozen
class Scan:
    """What a journal's bytes hold: whole records, how many bytes they take, and what stands behind them (a torn tail, or a line that is being written)."""

    records: tuple[Record, ...]
    size: int
    tail: bytes


def encode(seq: int, at: float, kind: str, data: Mapping[str, Any], prev: str) -> tuple[Record, bytes]:
    """The record and its line, newline included. Raises ValueError when ``data`` is not JSON (NaN is not)."""
    fields = {"seq": seq, "at": at, "type": kind, "data": data, "prev": prev}
    rest = json.dumps(fields, separators=(",", ":"), allow_nan=False)[1:-1].encode()
    digest = _digest(rest)
    return Record(seq, at, kind, data, prev, digest), b'{"digest":"%s",%s}\n' % (digest.encode(), rest)


def decode(line: bytes) -> Record | None:
    """The record of a line without its newline, None when it is not, byte for byte, what :func:`encode` made."""
    match = _LINE.fullmatch(line)
    if match is None or _digest(match[2]).encode() != match[1]:
        return None
    try:
        return Record(**json.loads(line))
    except (ValueError, TypeError):
        return None


def scan(path: Path, content: bytes) -> Scan:
    """Read a journal's bytes; ``path`` is for messages.

    What cannot be read at the end is a tail, as long as no further record starts in it: a write that was cut short leaves at most one.
    Anywhere else it is damage. Raises JournalDamaged.
    """
    records: list[Record] = []
    size = 0
    while size < len(content):
        end = content.find(b"\n", size)
        record = decode(content[size:end]) if end >= 0 else None
        if record is None:
            if _START.search(content, size + 1):
                raise JournalDamaged(path, len(records) + 1, "this is not what was written here (its checksum does not fit)")
            break
        _check_place(path, record, records)
        records.append(record)
        size = end + 1
    return Scan(tuple(records), size, content[size:])


def _check_place(path: Path, record: Record, before: list[Record]) -> None:
    """A whole record must follow the one before it."""
    prev = before[-1].digest if before else ORIGIN
    if record.seq != len(before) or record.prev != prev:
        raise JournalDamaged(path, len(before) + 1, f"record {record.seq} stands where record {len(before)} belongs (a line is missing, doubled or moved)")


def _digest(rest: bytes) -> str:
    return hashlib.sha256(b"{%s}" % rest).hexdigest()[:32]
