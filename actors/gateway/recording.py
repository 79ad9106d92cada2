"""Keeps the wire of every scenario: what its agent and its models said to each other, in ``wire.bin`` of the scenario's folder.

The event loop only puts what passed into a queue; one worker thread at a time cuts, compresses and writes. A disk that is full or too slow costs recordings,
never the run, and is told.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import cattrs
import structlog
import trio

from actors.gateway.interfaces import Caller, ExchangeEnd, Headers, Recording, UpstreamRequest
from actors.gateway.redact import Redactor
from scenario_store.wire import NAME, RequestHead
from scenario_store.wire_writer import Piece, WireWriter
from stamina.errors import HostFault

log = structlog.get_logger()

QUEUE_BYTES: Final = 256 * 1024 * 1024
"""What may wait to be written; what comes while there is more is not recorded."""

FLUSH_BYTES: Final = 64 * 1024
"""How much of an answer is gathered before it goes to the queue."""

DRAIN_SECONDS: Final = 30.0
"""How long the end of a sweep waits for what is still to be written."""

HELD_CHARACTERS: Final = 64 * 1024 * 1024
"""How much of the scenarios' last requests is kept to compare the next ones with."""

BATCH: Final = 64

FolderOf: TypeAlias = Callable[[Caller], Path]
"""The folder of a caller's scenario, which is there."""

Scenario: TypeAlias = tuple[str, int, int]

_UNSEEN: Final = frozenset({"set-cookie"})
"""Headers of answers that are not kept: what is in them works like a key."""


class Tape:
    """One exchange; see :class:`actors.gateway.interfaces.Recording`.

    Attributes:
        number: of its request in the file, None while it is not written.
        dropped: it could not be kept; nothing more of it is.
        carried: bytes that cannot be written yet, since a secret may go on behind them.
    """

    def __init__(self, recorder: WireRecorder, caller: Caller) -> None:
        self.caller = caller
        self.number: int | None = None
        self.dropped = False
        self.carried: list[Piece] = []
        self._recorder = recorder
        self._begun = trio.current_time()
        self._pieces: list[Piece] = []
        self._size = 0
        self._facts: dict[str, Any] = {}

    def answered(self, status: int, headers: Headers) -> None:
        """See the protocol."""
        self._facts |= {"status": status, "headers": [pair for pair in headers if pair[0] not in _UNSEEN]}

    def received(self, data: bytes) -> None:
        """See the protocol."""
        self._pieces.append(Piece(trio.current_time() - self._begun, data))
        self._size += len(data)
        if self._size >= FLUSH_BYTES:
            self._flush(last=False)

    def ended(self, end: ExchangeEnd) -> None:
        """See the protocol."""
        self._facts["end"] = cattrs.unstructure(end)
        self._flush(last=True)

    def _flush(self, *, last: bool) -> None:
        pieces, facts, size = self._pieces, self._facts, self._size
        self._pieces, self._facts, self._size = [], {}, 0
        self._recorder.put(_More(self, pieces, facts, last), size)


@attrs.frozen
class _Begin:
    """A request began."""

    tape: Tape
    head: RequestHead
    body: bytes


@attrs.frozen
class _More:
    """More of an answer, or its end."""

    tape: Tape
    pieces: list[Piece]
    facts: dict[str, Any]
    last: bool


@attrs.frozen
class _Left:
    """A scenario is not played any more."""

    scenario: Scenario


_Job: TypeAlias = _Begin | _More | _Left


class WireRecorder:
    """See the module; made by :func:`recording`, and a :class:`actors.gateway.interfaces.Recorder`.

    Attributes:
        waiting: bytes that are to be written.
    """

    def __init__(self, folder_of: FolderOf, redactor: Redactor, clock: Callable[[], float] = time.time, *, queue_bytes: int = QUEUE_BYTES) -> None:
        self._folder_of = folder_of
        self._redactor = redactor
        self._clock = clock
        self._most = queue_bytes
        self.waiting = 0
        self._send, self._receive = trio.open_memory_channel[tuple[_Job, int]](float("inf"))
        self._scope = trio.CancelScope(shield=True)
        self._writers: dict[Scenario, WireWriter] = {}
        self._lost: Counter[Scenario] = Counter()
        self._reasons: dict[Scenario, str] = {}
        self._counting = threading.Lock()

    # In the event loop.

    def begin(self, request: UpstreamRequest) -> Recording:
        """See the protocol."""
        caller, tape = request.caller, Tape(self, request.caller)
        head = RequestHead(
            caller.turn,
            caller.attempt,
            caller.call,
            request.number,
            request.protocol.value,
            request.operation.value,
            request.model.name,
            request.path,
            request.headers,
            request.stream,
            self._clock(),
        )
        self.put(_Begin(tape, head, request.body), len(request.body))
        return tape

    def left(self, caller: Caller) -> None:
        """See the protocol."""
        self._put(_Left(caller.scenario), 0)

    def put(self, job: _Begin | _More, size: int) -> None:
        """Have something written, unless too much waits for that already."""
        if job.tape.dropped:
            return
        if self.waiting + size > self._most:
            self._drop(job.tape, f"the disk is too slow: {self.waiting >> 20} MiB wait to be written")
        else:
            self._put(job, size)

    def _put(self, job: _Job, size: int) -> None:
        try:
            self._send.send_nowait((job, size))
        except trio.ClosedResourceError:
            return  # the sweep has ended; what a connection has still to say about its end is nobody's business
        self.waiting += size

    async def run(self) -> None:
        """Write until closed, and then what is left, however the caller is cancelled."""
        limiter = trio.CapacityLimiter(1)
        with self._scope, self._receive:
            async for first in self._receive:
                batch = [first]
                while len(batch) < BATCH and self._receive.statistics().current_buffer_used:
                    batch.append(self._receive.receive_nowait())
                await trio.to_thread.run_sync(self._write_all, [job for job, _ in batch], limiter=limiter)
                self.waiting -= sum(size for _, size in batch)
        if self._scope.cancelled_caught:
            log.warning("the last exchanges were not recorded: the disk is too slow", bytes=self.waiting)
        await trio.to_thread.run_sync(self._close, limiter=limiter)

    def close(self) -> None:
        """Nothing more is put; what waits is still written, for a while."""
        self._send.close()
        self._scope.deadline = trio.current_time() + DRAIN_SECONDS

    # In a worker thread.

    def _write_all(self, jobs: list[_Job]) -> None:
        for job in jobs:
            try:
                self._write(job)
            except HostFault as fault:
                self._failed(job, str(fault))
            except Exception as error:
                log.exception("a bug: an exchange cannot be recorded")
                self._failed(job, f"a bug of stamina ({type(error).__name__})")

    def _write(self, job: _Job) -> None:
        match job:
            case _Begin(tape, head, body) if not tape.dropped:
                writer = self._writer(tape.caller)
                shown = attrs.evolve(head, path=self._redactor.text(head.path), headers=self._redactor.value(head.headers))
                tape.number = writer.request(shown, body)
                self._make_room(tape.caller.scenario)
            case _More(tape, pieces, facts, last) if not tape.dropped and tape.number is not None:
                clean = self._clean(tape, pieces, last=last)
                if clean or facts:
                    self._writer(tape.caller).answer(tape.number, clean, self._redactor.value(facts))
            case _Left(scenario):
                if (writer_left := self._writers.pop(scenario, None)) is not None:
                    self._finish(scenario, writer_left)
            case _:
                return

    def _writer(self, caller: Caller) -> WireWriter:
        """The scenario's; what was lost before is noted first."""
        scenario = caller.scenario
        if scenario not in self._writers:
            writer = WireWriter(self._folder_of(caller) / NAME, self._redactor.data)
            self._writers[scenario] = writer
            if writer.put_aside is not None:
                log.warning("the recording was damaged and is begun anew", cell=caller.cell, seed=caller.seed, kept=str(writer.put_aside))
        self._tell_lost(scenario, self._writers[scenario])
        return self._writers[scenario]

    def _make_room(self, scenario: Scenario) -> None:
        """Of the requests that are kept for those that follow them, forget the oldest when they are too many."""
        self._writers[scenario] = self._writers.pop(scenario)
        held = sum(writer.held for writer in self._writers.values())
        for writer in self._writers.values():
            if held <= HELD_CHARACTERS:
                return
            held -= writer.held
            writer.forget()

    def _tell_lost(self, scenario: Scenario, writer: WireWriter) -> None:
        with self._counting:
            count, reason = self._lost.get(scenario, 0), self._reasons.get(scenario, "")
        if count:
            writer.lost(count, reason)
            with self._counting:
                self._lost[scenario] -= count

    def _clean(self, tape: Tape, pieces: list[Piece], *, last: bool) -> list[Piece]:
        """What can be written, without secrets; the rest is carried to the next time."""
        pieces = [*tape.carried, *pieces]
        data = b"".join(piece.data for piece in pieces)
        size = len(data) if last else self._redactor.whole(data)
        now, tape.carried = _divided(pieces, size)
        clean = self._redactor.data(data[:size])
        return now if clean == data[:size] else [Piece(now[-1].seconds, clean)]

    def _failed(self, job: _Job, reason: str) -> None:
        if isinstance(job, _Left):
            return
        self._drop(job.tape, reason)

    def _drop(self, tape: Tape, reason: str) -> None:
        """In either place: of an exchange that is not whole, nothing more is kept."""
        if tape.dropped:
            return
        tape.dropped, scenario = True, tape.caller.scenario
        if self._reasons.get(scenario) != reason:
            cell, seed, repeat = scenario
            log.warning("exchanges are not recorded, so this scenario cannot be replayed; it goes on", cell=cell, seed=seed, repeat=repeat, reason=reason)
        with self._counting:
            self._reasons[scenario] = reason
            self._lost[scenario] += 1

    def _close(self) -> None:
        for scenario, writer in self._writers.items():
            self._finish(scenario, writer)
        self._writers.clear()

    def _finish(self, scenario: Scenario, writer: WireWriter) -> None:
        try:
            self._tell_lost(scenario, writer)
        except HostFault as fault:
            log.warning("the recording does not say what it lacks", reason=str(fault))
        finally:
            writer.close()


def _divided(pieces: list[Piece], size: int) -> tuple[list[Piece], list[Piece]]:
    """The first so many bytes of pieces, and the rest."""
    now: list[Piece] = []
    for at, piece in enumerate(pieces):
        if size < len(piece.data):
            before = [Piece(piece.seconds, piece.data[:size])] if size else []
            return [*now, *before], [Piece(piece.seconds, piece.data[size:]), *pieces[at + 1 :]]
        now.append(piece)
        size -= len(piece.data)
    return now, []


@asynccontextmanager
async def recording(folder_of: FolderOf, redactor: Redactor, clock: Callable[[], float] = time.time) -> AsyncIterator[WireRecorder]:
    """A recorder for the length of the block; leaving it waits until all is written, within reason."""
    recorder = WireRecorder(folder_of, redactor, clock)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        try:
            yield recorder
        except Exception as error:
            # Raised again below, where no nursery wraps it in a group.
            failure = error
        finally:
            recorder.close()
    if failure is not None:
        raise failure
