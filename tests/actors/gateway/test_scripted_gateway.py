"""The scripted model behind the gateway, over HTTP: what it knows that it served is what the gateway counted, whatever went wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

from actors.gateway.gate import Trouble
from actors.gateway.gateway import Options, gateway
from actors.gateway.interfaces import Caller
from actors.gateway.scripted import scripted
from actors.gateway.seats import Seat
from harnesses.scripted_model.answer import Count
from harnesses.scripted_model.failing import OF_ANSWERS
from harnesses.scripted_model.ledger import Served, due, read_line
from stamina.config.model import Budget, ModelConfig, Price
from stamina.config.script import FailureConfig, ModelFailure, ScriptConfig
from stamina.domain import ScenarioOptions
from stamina.rest.domain import RestDomain
from stamina.usage import How, ModelRequest, Usage
from tests.actors.gateway.stub import hang_up_after
from tests.harnesses.mini_agent import path_of
from tests.harnesses.mini_cli import DIALECTS, Failed, MiniCli
from tests.harnesses.scripted_lab import judged, model_of
from tests.waiting import until_true

PROTOCOLS = sorted(DIALECTS)
SCENARIO = RestDomain().scenario(ScenarioOptions(seed=1))
PRICE = Price(1.0, 2.0, 0.1, 1.25)


@attrs.define
class Hall:
    """A gateway with a scripted model, and everything that was told."""

    url: str
    seat: Seat
    client: httpx.AsyncClient
    requests: list[ModelRequest]
    ledger: list[Served]
    troubles: list[Trouble]

    def cli(self, workspace: Path, protocol: str, *, stream: bool = False, patience: int = 0) -> MiniCli:
        for name, text in SCENARIO.files.items():
            (workspace / name).write_text(text)
        return MiniCli(protocol, self.sender(protocol), workspace, stream, patience)

    def sender(self, protocol: str) -> Any:
        async def send(body: dict[str, Any], stream: bool) -> tuple[int, bytes]:
            answer = await self.client.post(self.url + path_of(protocol, "m", stream=stream), json=body, headers={"x-api-key": self.seat.token})
            return answer.status_code, answer.content

        return send

    @property
    def agree(self) -> bool:
        """Whether the gateway counted what the model served, request by request."""
        counted = {(("cell", 1, 0), request.number): request.usage for request in self.requests}
        served = {key: None if count is None else usage_of(count) for key, count in due(self.ledger).items()}
        assert [read_line(line) for line in map(dumped, self.ledger)] == self.ledger
        return counted == served


def dumped(entry: Served) -> str:
    return json.dumps(entry.line())


def usage_of(count: Count) -> Usage:
    return Usage(count.input, count.output, count.cached, count.written)


@asynccontextmanager
async def hall(model: ModelConfig | None = None, *, budget: Budget | None = None) -> AsyncIterator[Hall]:
    model = model or model_of(price=PRICE)
    requests: list[ModelRequest] = []
    ledger: list[Served] = []
    troubles: list[Trouble] = []
    options = Options(
        {"m": model}, budget or Budget(), scripted(ledger.append), write=lambda caller, request: requests.append(bare(request)), tell=troubles.append
    )
    async with gateway(options) as gate, httpx.AsyncClient(timeout=None) as client:
        with gate.seat(Caller("cell", 1, 0), model) as seat:
            seat.begin(0, 0, 0)
            yield Hall(gate.bind(), seat, client, requests, ledger, troubles)


def bare(request: ModelRequest) -> ModelRequest:
    """The provider's own object is not compared."""
    return attrs.evolve(request, usage=None if request.usage is None else attrs.evolve(request.usage, raw={}))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_three_turns_in_every_protocol(tmp_path: Path, protocol: str, stream: bool) -> None:
    """The servers pass, and the books agree."""
    async with hall() as here:
        cli = here.cli(tmp_path, protocol, stream=stream)
        await _play(here, cli, 3)
        assert (await judged(tmp_path, SCENARIO, 2)).ok
    assert here.agree
    assert len(here.requests) > 10
    assert all(request.usage for request in here.requests)
    assert all(served.kept.whole for served in here.ledger)


@pytest.mark.parametrize(
    ("kind", "protocol", "stream"),
    [
        (kind, protocol, stream)
        for kind in ModelFailure
        for protocol, stream in (("chat", False), *((protocol, True) for protocol in (PROTOCOLS if kind in OF_ANSWERS else PROTOCOLS[-1:])))
        if kind not in (ModelFailure.UNAUTHORIZED, ModelFailure.KILL)
    ],
)
async def test_the_books_agree_whatever_goes_wrong(tmp_path: Path, protocol: str, stream: bool, kind: ModelFailure, patient_clock: Any) -> None:
    """Twice in the middle of a turn. What was lost is unknown, and never 0."""
    script = ScriptConfig(failures=(FailureConfig(kind, request=2, times=2, command_seconds=0),))
    async with hall(model_of(script, model_idle_seconds=30.0)) as here:
        cli = here.cli(tmp_path, protocol, stream=stream, patience=3)
        said = await cli.call(SCENARIO.turn(0).prompt)
        for repetition in range(1, 3):
            here.seat.begin(0, 0, repetition)
            said = said or await cli.call(SCENARIO.turn(0).prompt)
    assert "does what was asked for" in said
    assert here.agree
    unknown = [request for request in here.requests if request.usage is None]
    silent = kind in (ModelFailure.HANG, ModelFailure.STALL)
    lost = kind is ModelFailure.CUT or silent
    # Of an answer that is no stream, two that are cut off are two tries of one request.
    assert len(unknown) == (0 if not lost else 1 if kind is ModelFailure.CUT and not stream else 2)
    assert all((request.how is How.SILENT) == silent for request in unknown)


async def test_counting_and_side_requests_agree_too(tmp_path: Path) -> None:
    """Counting beforehand costs nothing, and tells what the request will take."""
    async with hall() as here:
        cli = here.cli(tmp_path, "messages")
        cli.history.append(cli.dialect.user(SCENARIO.turn(0).prompt))
        body = cli.dialect.body(cli.history, stream=False)
        counted = await here.client.post(here.url + "/v1/messages/count_tokens", json=body, headers={"x-api-key": here.seat.token})
        await cli.ask()
        await cli.ask(tools=False, history=[cli.dialect.user("Write a title.")])
        models = await here.client.get(here.url + "/v1/models", headers={"x-api-key": here.seat.token})
    assert models.json()["data"][0]["id"] == "m"
    assert here.requests[1].usage is not None
    assert counted.json() == {"input_tokens": here.requests[1].usage.input}
    assert here.agree


async def test_refused_credentials_stop_everybody_until_they_are_taken(tmp_path: Path, patient_clock: Any) -> None:
    """One message, and the work goes on by itself."""
    script = ScriptConfig(failures=(FailureConfig(ModelFailure.UNAUTHORIZED, request=1, for_seconds=100.0),))
    async with hall(model_of(script)) as here:
        said = await here.cli(tmp_path, "chat").call(SCENARIO.turn(0).prompt)
    assert "does what was asked for" in said
    assert [bool(trouble.reason) for trouble in here.troubles] == [True, False]
    assert here.agree


async def test_a_client_that_goes_away_is_nobodys_answer(tmp_path: Path) -> None:
    """In the middle of a stream."""
    async with hall(model_of(ScriptConfig(event_seconds=0.05))) as here:
        cli = here.cli(tmp_path, "responses", stream=True)
        cli.history.append(cli.dialect.user(SCENARIO.turn(0).prompt))
        body = cli.dialect.body(cli.history, stream=True)
        await hang_up_after(b"data: ", here.url, here.seat.token, path_of("responses", "m", stream=True), body)
        await until_true(lambda: here.requests)
    assert [request.how for request in here.requests] == [How.ABANDONED]
    assert here.agree


async def _play(here: Hall, cli: MiniCli, turns: int) -> None:
    for turn in range(turns):
        here.seat.begin(turn, 0, 0)
        await cli.call(SCENARIO.turn(turn).prompt)


async def test_the_budget_counts_what_the_model_served(tmp_path: Path) -> None:
    """It stops where the money is spent."""
    async with hall(model_of(price=PRICE), budget=Budget(scenario_usd=0.2)) as here:
        cli = here.cli(tmp_path, "messages")
        with pytest.raises(Failed, match="402"):
            await _play(here, cli, 50)
    assert here.seat.exhausted is not None
    counts = [served.count for served in here.ledger if served.count]
    spent = sum((c.input - c.cached - c.written) + 0.1 * c.cached + 1.25 * c.written + 2 * c.output for c in counts) / 1e6
    assert 0.05 < spent <= 0.2
