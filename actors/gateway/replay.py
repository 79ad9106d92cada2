"""A recorded run as an upstream: every request gets the answer that was recorded for it, or a loud miss.

Within an agent call each recorded exchange answers once: the first one not used yet that asks the same (:mod:`actors.gateway.likeness`), so that requests which
a CLI sends side by side may change places. A request that asks something else ends its scenario as a fault of the benchmark, with the first difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeAlias

import attrs
import structlog
import trio

from actors.gateway.interfaces import Headers, ReplayMissed, UpstreamFailed, UpstreamRequest, UpstreamResponse
from actors.gateway.likeness import difference, normal_bytes
from actors.gateway.recording import FolderOf, Scenario
from actors.gateway.redact import Redactor
from scenario_store.parts import cut
from scenario_store.recording import Answer, Exchange, Recording
from scenario_store.wire import RequestHead
from scenario_store.wire_writer import digest_of
from stamina.errors import StaminaError
from stamina.usage import How

log = structlog.get_logger()

THREADS: Final = 2

Parts: TypeAlias = list[tuple[bytes, bytes]]
"""The parts of a body, each behind its digest."""


class Replay:
    """See the module; an :class:`actors.gateway.interfaces.Upstream` for all models of a sweep.

    Args:
        name: of the recorded run, for messages.
        folder_of: the scenarios' folders in it.
        redactor: knows what recordings do not hold.
    """

    def __init__(self, name: str, folder_of: FolderOf, redactor: Redactor) -> None:
        self._name = name
        self._folder_of = folder_of
        self._redactor = redactor
        self._scenarios: dict[Scenario, _Recorded] = {}
        self._limiter = trio.CapacityLimiter(THREADS)

    @asynccontextmanager
    async def open(self, request: UpstreamRequest) -> AsyncIterator[UpstreamResponse]:
        """See the protocol. Raises ReplayMissed, and UpstreamFailed where that is what was recorded."""
        caller = request.caller
        recorded = self._scenarios.setdefault(caller.scenario, _Recorded(self._redactor))
        try:
            async with recorded.lock:
                answer = await trio.to_thread.run_sync(partial(recorded.answer, self._folder_of, request), limiter=self._limiter)
        except UpstreamFailed:
            raise
        except Exception as error:
            if not isinstance(error, StaminaError | _Missed):
                log.exception("a bug: a recording cannot answer")
            where = f"scenario {caller.cell}/{caller.seed}/{caller.repeat}, turn {caller.turn}, attempt {caller.attempt}, call {caller.call}"
            raise ReplayMissed(f"replay of {self._name}, {where}, request {request.number}: {error or type(error).__name__}") from error
        if answer.status is None:
            assert answer.end is not None, "only whole exchanges are replayed"
            if answer.end.how is How.ABANDONED:
                await trio.sleep_forever()
            raise UpstreamFailed(f"as recorded: {answer.end.detail}")
        yield _Replayed(answer, answer.status)


class _Missed(Exception):
    """There is no recorded answer; one clause says why."""


@attrs.define(eq=False)
class _Recorded:
    """One scenario's recording, and what of it is used up."""

    redactor: Redactor
    lock: trio.Lock = attrs.field(factory=trio.Lock)
    recording: Recording | None = None
    left: dict[tuple[int, int, int], list[Exchange]] = attrs.field(factory=dict)
    normals: dict[bytes, bytes] = attrs.field(factory=dict)
    """What parts ask, by their digests; of both runs, since a digest is of the text."""

    def answer(self, folder_of: FolderOf, request: UpstreamRequest) -> Answer:
        """The recorded answer, which is used up by this. Raises _Missed, InputError, HostFault; UpstreamFailed for a call that was cut short."""
        if self.recording is None:
            self.recording = Recording.read(folder_of(request.caller))
            for exchange in self.recording.exchanges:
                self.left.setdefault(exchange.head.key, []).append(exchange)
        exchange = self._found(self.recording, request)
        self.left[exchange.head.key].remove(exchange)
        answer = self.recording.answer(exchange)
        if answer.end is None:
            raise _Missed(f"the recording of request {exchange.head.number} is not whole: the run was cut off, or the disk was full")
        return answer

    def _found(self, recording: Recording, request: UpstreamRequest) -> Exchange:
        caller = request.caller
        left = self.left.get((caller.turn, caller.attempt, caller.call), [])
        same = [exchange for exchange in left if _address(exchange.head) == _request_address(request)]
        parts = [(digest_of(part), part) for part in (text.encode() for text in cut(request.body.decode("utf-8", "replace")).parts())]
        for exchange in same:
            if self._like(recording, exchange, parts):
                return exchange
        if not left:
            raise self._nothing_left(recording, request)
        if not same:
            raise _Missed(f"recorded was request {left[0].head.number}, {_address(left[0].head)}; asked is {_request_address(request)}")
        found = difference(recording.body(same[0]), self.redactor.data(request.body))
        if found is not None:
            raise _Missed(f"it asks something else than the recorded request {same[0].head.number}: {found}")
        return same[0]

    def _nothing_left(self, recording: Recording, request: UpstreamRequest) -> Exception:
        caller = request.caller
        again = [call for turn, attempt, call in self.left if (turn, attempt) == (caller.turn, caller.attempt) and call > caller.call]
        if again:
            return UpstreamFailed("as recorded: the call was cut short here, and made again")
        recorded = sum(exchange.head.key == (caller.turn, caller.attempt, caller.call) for exchange in recording.exchanges)
        lost = f"; {recording.lost} of the scenario could not be recorded" if recording.lost else ""
        return _Missed(f"the recording has no more of this call than the {recorded} requests that were answered{lost}")

    def _like(self, recording: Recording, exchange: Exchange, parts: Parts) -> bool:
        """Whether a recorded request has these parts, masked."""
        numbers = recording.numbers(exchange)
        if len(numbers) != len(parts):
            return False
        for number, (digest, part) in zip(numbers, parts, strict=True):
            known = recording.digest(number)
            if known != digest and self._recorded_normal(recording, number) != self._normal(digest, part):
                return False
        return True

    def _recorded_normal(self, recording: Recording, number: int) -> bytes:
        digest = recording.digest(number)
        return self.normals[digest] if digest in self.normals else self._normal(digest, recording.part(number))

    def _normal(self, digest: bytes, part: bytes) -> bytes:
        """What a part asks, as a digest."""
        if digest not in self.normals:
            self.normals[digest] = digest_of(normal_bytes(self.redactor.data(part)))
        return self.normals[digest]


def _address(head: RequestHead) -> str:
    return f"{head.protocol} {head.operation} {head.path} {'as a stream' if head.stream else 'whole'}"


def _request_address(request: UpstreamRequest) -> str:
    return f"{request.protocol.value} {request.operation.value} {request.path} {'as a stream' if request.stream else 'whole'}"


class _Replayed:
    """A recorded answer."""

    def __init__(self, answer: Answer, status: int) -> None:
        self._answer = answer
        self._status = status
        self._pieces = iter(answer.pieces)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._status

    @property
    def headers(self) -> Headers:
        """As they were."""
        return self._answer.headers

    async def receive(self) -> bytes:
        """The next piece, without the pause that was before it. What the agent did not wait for stays unanswered."""
        await trio.lowlevel.checkpoint()
        for _, data in self._pieces:
            if data:
                return data
        assert self._answer.end is not None, "only whole exchanges are replayed"
        if self._answer.end.how is How.ABANDONED:
            await trio.sleep_forever()
        if self._answer.end.how is How.SILENT:
            raise UpstreamFailed(f"as recorded: {self._answer.end.detail}")
        return b""
