"""Joins a run and its gateway: scenarios come to their seats, requests and their wire to the scenarios' folders, and what was spent before to the ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import attrs

from actors.gateway.budget import UNIT
from actors.gateway.desk import BYTES_PER_TOKEN, USUAL_OUTPUT, Begin, Write
from actors.gateway.gateway import Gateway, Options
from actors.gateway.interfaces import Caller
from actors.gateway.recording import recording
from actors.gateway.redact import Redactor
from actors.gateway.replay import Replay
from actors.gateway.seating import Seated, Seating
from harnesses.harness import ModelAccess
from scenario_store.folder import ScenarioFolder
from scenario_store.run import Run
from scenario_store.usage import append_begun, append_request, mend, read_requests, settle
from stamina.config.model import ModelConfig, Work
from stamina.pricing import at_list_price, price_of
from stamina.protocols import Protocol, compatible
from stamina.usage import LOST, Begun, ModelRequest, Usage


@attrs.frozen
class Wire:
    """What a run keeps of the wire, and where its answers come from.

    Attributes:
        run: its scenarios' folders take the recordings.
        redactor: keeps secrets out of them.
        recorded: the run whose recordings answer; None asks the models.
    """

    run: Run
    redactor: Redactor
    recorded: Run | None = None

    def folder(self, caller: Caller) -> Path:
        """The folder of a caller's scenario."""
        return self.run.scenario(*caller.scenario).path

    @asynccontextmanager
    async def attached(self, options: Options) -> AsyncIterator[Options]:
        """A gateway's options with all this, for the length of the block; leaving it waits until what passed is written."""
        if self.recorded is not None:
            replay = Replay(self.recorded.path.name, _within(self.recorded), self.redactor)
            options = attrs.evolve(options, upstreams=lambda model: replay, recorded=True)
        async with recording(self.folder, self.redactor, options.clock) as recorder:
            yield attrs.evolve(options, recorder=recorder, redactor=self.redactor)


def _within(run: Run) -> Callable[[Caller], Path]:
    """Folders of a run that nothing is made in."""
    known = {(folder.cell, folder.seed, folder.repeat): folder.path for folder in run.scenarios()}
    return lambda caller: known.get(caller.scenario, run.path)


def seating(gate: Gateway, url: str) -> Seating:
    """Seats at a gateway; ``url`` is where agents reach it from their sandboxes."""

    @contextmanager
    def seated(work: Work, folder: ScenarioFolder) -> Iterator[Seated | None]:
        model = work.cell.model
        if model is None:
            yield None
            return
        mend(folder.path)
        number = 1 + max((request.number for request in read_requests(folder.path)), default=-1)
        with gate.seat(Caller(work.cell.slug, work.seed, work.repeat), model, number=number) as seat:
            served = tuple(protocol for protocol in Protocol if compatible(protocol, model) is None)
            yield Seated(seat, ModelAccess(url, seat.token, model.name, model.context_window, served))

    return seated


def writing(folder_of: Callable[[Caller], Path]) -> Write:
    """Writes each request into its scenario's folder."""

    def write(caller: Caller, request: ModelRequest) -> None:
        append_request(folder_of(caller), request)

    return write


def beginning(folder_of: Callable[[Caller], Path]) -> Begin:
    """Writes into its scenario's folder that a request went to a provider."""

    def begin(caller: Caller, begun: Begun) -> None:
        append_begun(folder_of(caller), begun)

    return begin


def restore_spending(gate: Gateway, run: Run, models: Iterable[ModelConfig]) -> None:
    """Count what earlier runs of a sweep have spent, so that its limits bind all runs together; first settle what was under way when one was killed.

    Raises InputError for a record that cannot be read.
    """
    prices = {model.name: price_of(model) for model in models}
    for folder in run.scenarios():
        settle(folder.path)
        for request in read_requests(folder.path):
            price = prices.get(request.model)
            if price is not None:
                caller = Caller(folder.cell, folder.seed, folder.repeat, request.turn, request.attempt, request.call)
                gate.money.ledger.restore(caller, round(at_list_price(_usage(request), price) * UNIT))


def _usage(request: ModelRequest) -> Usage:
    """What is known, else what the bytes suggest: money that may have been spent is not given out again. Of what was lost with us nobody saw an answer."""
    output = USUAL_OUTPUT if request.detail == LOST else request.bytes_out // BYTES_PER_TOKEN
    return request.usage or Usage(request.bytes_in // BYTES_PER_TOKEN, output)
