"""The journal of a scenario: everything that happened, in order, for good.

Append-only lines (:mod:`scenario_store.record`) of typed events (:mod:`scenario_store.events`), made durable one by one. Three promises:

* What :meth:`Journal.append` returned for is on the disk, whatever happens next. A crash, a kill or a power cut costs at most the record that was being
  written; what is left of it is put aside in ``journal.torn-N``, and appending goes on.
* What was written is what is read: a changed, missing or moved line is found, named and never skipped.
* One writer. A reader needs no permission and disturbs nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, TypeAlias, TypeVar

import attrs

from scenario_store.atomic import host_faults, sync_folder, write_all, write_new
from scenario_store.events import Codec, UnknownEvent, codec
from scenario_store.record import ORIGIN, Record, Scan, encode, scan
from stamina.errors import HostFault, InputError

E = TypeVar("E")
Clock: TypeAlias = Callable[[], float]
"""Seconds since 1970 (UTC)."""

FORMAT: Final = 1
"""Version of the line format; stands in every journal's first record, whose type is :data:`HEADER`."""
HEADER: Final = "journal"


class JournalUnknown(InputError):
    """A journal holds something that this version of stamina does not know: it was written by another one."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(f"{path}, line {line}: this version of stamina does not know {what}. Use the version that wrote this run: lock.json names it")


@attrs.frozen
class Entry(Generic[E]):
    """A record and its event."""

    record: Record
    event: E


@attrs.frozen
class History(Generic[E]):
    """What a journal holds.

    Attributes:
        entries: in order, without the header.
        torn: bytes behind the last whole record: a write that was cut short, or is under way.
    """

    entries: tuple[Entry[E], ...] = ()
    torn: int = 0

    @property
    def events(self) -> tuple[E, ...]:
        """The events alone."""
        return tuple(entry.event for entry in self.entries)


def read_journal(path: Path, union: Any) -> History[E]:
    """Read a journal, also while another process writes it; nothing is changed. A file that is not there is an empty history.

    Raises JournalDamaged, JournalUnknown, HostFault.
    """
    with host_faults("read", path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return History()
    found = scan(path, content)
    return History(_entries(path, found, codec(union)), len(found.tail))


def _entries(path: Path, found: Scan, wire: Codec[E]) -> tuple[Entry[E], ...]:
    _check_header(path, found)
    return tuple(Entry(record, _event(path, record, wire)) for record in found.records[1:])


def _check_header(path: Path, found: Scan) -> None:
    if not found.records:
        return
    header = found.records[0]
    if header.type != HEADER:
        raise JournalUnknown(path, 1, f"a journal that begins with {header.type!r}")
    if header.data.get("format") != FORMAT:
        raise JournalUnknown(path, 1, f"journals of format {header.data.get('format')!r} (it reads {FORMAT})")


def _event(path: Path, record: Record, wire: Codec[E]) -> E:
    try:
        return wire.structure(record.type, record.data)
    except UnknownEvent as error:
        raise JournalUnknown(path, record.seq + 1, str(error)) from error


class Journal(Generic[E]):
    """A journal that is open for appending. Made by :meth:`open`; a context manager.

    Its calls block for as long as the disk takes and must not overlap: one scenario, one task, which lets a worker thread wait for the synced ones.

    Attributes:
        path: the file.
        history: what it held when it was opened.
        put_aside: the file that the torn tail went to, None when there was none.
    """

    def __init__(self, path: Path, descriptor: int, wire: Codec[E], clock: Clock) -> None:
        self.path = path
        self.history: History[E] = History()
        self.put_aside: Path | None = None
        self._descriptor = descriptor
        self._wire = wire
        self._clock = clock
        self._size = 0
        self._seq = 0
        self._prev = ORIGIN
        self._broken = False

    @classmethod
    def open(cls, path: Path, union: Any, *, clock: Clock) -> Journal[E]:
        """Open a journal for appending, make it when it is not there; its folder must be.

        Args:
            path: such as ``…/journal.jsonl``.
            union: the union of frozen attrs classes that its events belong to.
            clock: gives ``at`` of each record.

        Raises:
            InputError: another process writes it.
            JournalDamaged, JournalUnknown: it cannot be read; nothing was changed.
            HostFault: the disk.
        """
        journal = cls(path, _open_alone(path), codec(union), clock)
        try:
            journal._recover()
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, event: E, *, sync: bool = True) -> Record:
        """Add one event; durable when this returns.

        ``sync=False`` is for records that are cheap to lose: the next synced one makes them durable too.
        Raises HostFault when the disk is full or fails: then nothing was added, and a later append may succeed.
        """
        kind, data = self._wire.unstructure(event)
        return self._append(kind, data, sync=sync)

    def close(self) -> None:
        """Give up the file and the right to write it. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal[E]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _append(self, kind: str, data: dict[str, Any], *, sync: bool) -> Record:
        if self._broken:
            raise HostFault(f"{self.path} could not be written earlier; open it again")
        record, line = encode(self._seq, self._clock(), kind, data, self._prev)
        with host_faults("write", self.path):
            self._write(line, sync=sync)
        self._size += len(line)
        self._seq += 1
        self._prev = record.digest
        return record

    def _write(self, line: bytes, *, sync: bool) -> None:
        try:
            write_all(self._descriptor, line)
        except OSError:
            self._take_back()
            raise
        if sync:
            try:
                os.fsync(self._descriptor)
            except OSError:
                # What the disk holds is unknown now, and the kernel may call lost pages clean: only reading again tells.
                self._take_back()
                self._broken = True
                raise

    def _take_back(self) -> None:
        """Cut off what a failed append left behind. If even that fails, opening again does it."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._broken = True

    def _recover(self) -> None:
        with host_faults("read", self.path), open(self._descriptor, "rb", closefd=False) as file:
            found = scan(self.path, file.read())
        self.history = History(_entries(self.path, found, self._wire), len(found.tail))
        if found.tail:
            self._put_aside(found)
        self._size = found.size
        if found.records:
            self._seq = len(found.records)
            self._prev = found.records[-1].digest
        else:
            self._append(HEADER, {"format": FORMAT}, sync=True)
            with host_faults("write", self.path):
                sync_folder(self.path.parent)

    def _put_aside(self, found: Scan) -> None:
        """Keep the torn tail in a file of its own, then cut it off; in this order, so that no crash in between loses it."""
        with host_faults("repair", self.path):
            self.put_aside = _keep(self.path, found.tail)
            os.ftruncate(self._descriptor, found.size)
            os.fsync(self._descriptor)


def _keep(path: Path, tail: bytes) -> Path:
    number = 1
    while True:
        beside = path.with_name(f"{path.stem}.torn-{number}")
        with contextlib.suppress(FileExistsError):
            write_new(beside, tail)
            sync_folder(path.parent)
            return beside
        number += 1


def _open_alone(path: Path) -> int:
    """The file, open for appending, under a lock that ends with this process."""
    with host_faults("open", path):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"{path} is being written: another process is running this scenario. Wait for it, or stop it first") from None
        except OSError:
            os.close(descriptor)
            raise
    return descriptor
