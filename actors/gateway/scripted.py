"""Scripted models as an upstream: the pure model of :mod:`harnesses.scripted_model`, with time, silence and broken connections."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import structlog
import trio

from actors.gateway.gateway import Upstreams
from actors.gateway.http_client import NotConnected
from actors.gateway.interfaces import Caller, Headers, Operation, Upstream, UpstreamFailed, UpstreamRequest, UpstreamResponse
from harnesses.scripted_model.coder import Place
from harnesses.scripted_model.ledger import Served
from harnesses.scripted_model.model import Asked, Ending, Said, ScriptedModel
from stamina.config.model import ModelConfig, Provider
from stamina.config.script import ScriptConfig
from stamina.protocols import Protocol

log = structlog.get_logger()

LEDGER = "scripted.jsonl"
"""In a scenario's folder: what a scripted model served it."""


@attrs.define(eq=False)
class ScriptedUpstream(Upstream):
    """See the module."""

    model: ScriptedModel

    @asynccontextmanager
    async def open(self, request: UpstreamRequest) -> AsyncIterator[UpstreamResponse]:
        """See :class:`actors.gateway.interfaces.Upstream`."""
        script = self.model.config.script
        await trio.sleep(script.answer_seconds)
        said = self.model.respond(_asked(request))
        response = _Response(said, script)
        try:
            if said.status is None:
                if said.ending is Ending.SILENCE:
                    await trio.sleep_forever()
                raise NotConnected("there is no connection, as the script says")
            yield response
        finally:
            (self.model.delivered if response.taken else self.model.abandoned)(said)


@attrs.define(eq=False)
class _Response:
    """An answer that is handed on piece by piece.

    Attributes:
        taken: all of it was: the last event of a stream, the end of anything else.
    """

    said: Said
    script: ScriptConfig
    taken: bool = False
    _next: int = 0

    @property
    def status(self) -> int:
        """See :class:`actors.gateway.interfaces.UpstreamResponse`."""
        assert self.said.status is not None, "an answer that has begun has a status"
        return self.said.status

    @property
    def headers(self) -> Headers:
        """See :class:`actors.gateway.interfaces.UpstreamResponse`."""
        return self.said.headers

    async def receive(self) -> bytes:
        """See :class:`actors.gateway.interfaces.UpstreamResponse`."""
        await trio.sleep(self.script.event_seconds)
        if self._next < len(self.said.pieces):
            self._next += 1
            self.taken = self._next == len(self.said.pieces) > 1 and self.said.ending is Ending.WHOLE
            return self.said.pieces[self._next - 1]
        if self.said.ending is Ending.CUT:
            raise UpstreamFailed("the answer was cut off, as the script says")
        if self.said.ending is Ending.SILENCE:
            await trio.sleep_forever()
        self.taken = True
        return b""


def _asked(request: UpstreamRequest) -> Asked:
    caller = request.caller
    return Asked(
        scenario=caller.scenario,
        place=Place(caller.repeat, caller.turn, caller.attempt, caller.call),
        number=request.number,
        protocol=request.protocol,
        body=request.body,
        counts=request.operation is Operation.COUNT_TOKENS,
        stream=request.stream,
        framed=request.protocol is not Protocol.GEMINI or "alt=sse" in request.path,
        now=trio.current_time(),
    )


def scripted(keep: Callable[[Served], None]) -> Upstreams:
    """The upstreams of scripted models; ``keep`` takes the entries of their ledgers."""

    def upstream(model: ModelConfig) -> Upstream | None:
        return ScriptedUpstream(ScriptedModel(model, keep)) if model.provider is Provider.SCRIPTED else None

    return upstream


def ledger_in(folder_of: Callable[[Caller], Path]) -> Callable[[Served], None]:
    """Keeps ledgers in the scenarios' folders, one JSON object a line. What cannot be written is missing there, and harms nobody."""

    def keep(served: Served) -> None:
        path = folder_of(Caller(*served.scenario)) / LEDGER
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(served.line()) + "\n")
        except OSError as error:
            log.warning("an entry of a scripted model's ledger cannot be written", reason=error.strerror)

    return keep
