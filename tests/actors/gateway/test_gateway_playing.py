"""Whole scenarios and sweeps whose agents ask a model through the gateway: budgets end them in good order, outages cost them nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx
import trio

from actors.gateway.gate import Trouble
from actors.gateway.gateway import Options, gateway
from actors.gateway.joining import seating, writing
from actors.gateway.scripted import scripted
from actors.permits import Permits, at_once
from actors.sandbox import CallLimits
from actors.scenario import Cast
from actors.sweep import Company, SweepEnd, play_sweep
from harnesses.harness import CallContext, CallEnd, Command
from harnesses.scripted_model.ledger import Served
from scenario_store.folder import LiveFolder
from scenario_store.journal import History, read_journal
from scenario_store.usage import read_requests
from stamina.config.model import AgentConfig, Budget, Cell, ModelConfig, Plan, Provider, Settings, Sweep, Work
from stamina.config.script import FailureConfig, ModelFailure, ScriptConfig
from stamina.outcome import Ending
from stamina.turns import BudgetExhausted, CallCompleted, Event
from tests.actors.fakes import PASS, ToyHarness, ToySandbox, ToyScenario, World, always, folder_of, stage_of
from tests.actors.gateway.stub import ENVIRONMENT, PRICE, Script, Stub, whole

TOLD: list[Trouble] = []
"""What was told of outages."""
GOOD = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


@attrs.frozen
class AskingHarness(ToyHarness):
    """Tells its agent where the model is."""

    uses_model: bool = True

    def command(self, context: CallContext) -> Command:
        assert context.model is not None
        return attrs.evolve(super().command(context), env={"URL": context.model.base_url, "TOKEN": context.model.token, "MODEL": context.model.model})


@attrs.define
class AskingSandbox(ToySandbox):
    """Its agent asks its model twice in each call, and is done when it was answered."""

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        async with httpx.AsyncClient(timeout=None) as client:
            for _ in range(2):
                body = {"model": command.env["MODEL"], "messages": [], "max_tokens": 100}
                answer = await client.post(f"{command.env['URL']}/v1/chat/completions", json=body, headers={"x-api-key": command.env["TOKEN"]})
                if answer.status_code != 200:
                    await trio.sleep(1000)  # as a stubborn CLI does
                    return CallEnd(3, None, 1.0, None, stdout, stderr)
        return await super().call(command, limits=limits, stdout=stdout, stderr=stderr)


class AskingWorld(World):
    @asynccontextmanager
    async def sandbox(self, work: Work, live: LiveFolder) -> AsyncIterator[ToySandbox]:
        yield AskingSandbox(self, live)


async def sweep(
    script: Script, root: Path, *, seeds: int, budget: Budget, failure: FailureConfig | None = None
) -> tuple[SweepEnd, list[list[Event]], list[int]]:
    """Play scenarios of four turns; their ends, their journals, and how many requests each has."""
    stub = Stub(script)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, stub.serve, 0, host="127.0.0.1"))
        base = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        provider = Provider.OPENAI if failure is None else Provider.SCRIPTED
        script_of = ScriptConfig(failures=() if failure is None else (failure,))
        model = ModelConfig("m", provider, "real", 9000, base, price=PRICE, script=script_of)
        ledger: list[Served] = []
        cell = Cell("toy", AgentConfig("toy", model="m"), model, Settings(turns=3, retries=0))
        work = tuple(Work(cell, seed, 0) for seed in range(seeds))
        folders = [folder_of(one, root) for one in work]
        options = Options(
            {"m": model}, budget, scripted(ledger.append), write=writing(lambda caller: folders[caller.seed].path), environment=ENVIRONMENT, tell=TOLD.append
        )
        async with gateway(options) as gate:
            stage = attrs.evolve(
                stage_of(AskingWorld(always(PASS))),
                permits=Permits(trio.CapacityLimiter(3), trio.CapacityLimiter(4), at_once, {"m": trio.CapacityLimiter(64)}),
                seating=seating(gate, gate.bind()),
                closed=lambda: gate.money.ledger.closed,
            )
            company = Company(lambda one: Cast(one, ToyScenario(), AskingHarness(), folder_of(one, root)), stage, lambda report: None)
            end = await play_sweep(Plan(Sweep("s", tuple(range(seeds)), (cell.agent,)), (cell,), work), company)
        nursery.cancel_scope.cancel()
    assert [entry for entry in ledger if entry.count is not None and not entry.whole] == []
    histories: list[History[Event]] = [read_journal(folder.journal, Event) for folder in folders]
    return end, [list(history.events) for history in histories], [len(list(read_requests(folder.path))) for folder in folders]


async def test_a_scenario_plays_through_the_gateway(tmp_path: Path, patient_clock: Any) -> None:
    """Every request is in its folder."""
    end, _, requests = await sweep(lambda request, n: whole(GOOD), tmp_path, seeds=2, budget=Budget())
    assert [report.outcome.ending for report in end.reports] == [Ending.COMPLETED] * 2
    assert requests == [8, 8]


async def test_a_scenarios_budget_ends_it_at_that_point(tmp_path: Path, patient_clock: Any) -> None:
    """Censored, with the limit as its reason; its stubborn CLI is not waited for."""
    end, journals, _ = await sweep(lambda request, n: whole(GOOD), tmp_path, seeds=1, budget=Budget(scenario_usd=0.005))
    (report,) = end.reports
    assert (report.outcome.ending, report.outcome.cause) == (Ending.CENSORED, None)
    assert report.outcome.detail.startswith("[budget] scenario_usd = $0.005")
    assert len(report.outcome.turns) == 2
    assert isinstance(journals[0][-1], BudgetExhausted)
    assert trio.current_time() < 900


async def test_a_sweeps_budget_drains_it(tmp_path: Path, patient_clock: Any) -> None:
    """Those that play are censored, those that have not begun do not."""
    end, _, requests = await sweep(lambda request, n: whole(GOOD), tmp_path, seeds=20, budget=Budget(sweep_usd=0.0125))
    assert end.closed is not None
    assert not end.clean
    assert len(end.reports) < 10
    assert any(report.outcome.ending is Ending.CENSORED for report in end.reports)
    assert requests[-1] == 0


async def test_a_minute_without_a_provider_in_the_middle_of_twenty_scenarios(tmp_path: Path, patient_clock: Any) -> None:
    """The scripted model's outage: every scenario completes with every call made once; one message that it is down, one that it is up."""
    TOLD.clear()
    failure = FailureConfig(ModelFailure.OVERLOADED, after_seconds=3.0, for_seconds=60.0)
    end, journals, requests = await sweep(lambda request, n: [], tmp_path, seeds=20, budget=Budget(), failure=failure)
    assert [report.outcome.ending for report in end.reports] == [Ending.COMPLETED] * 20
    assert requests == [8] * 20
    for journal in journals:
        assert [event.call for event in journal if isinstance(event, CallCompleted)] == [0] * 4
    assert [bool(trouble.reason) for trouble in TOLD] == [True, False]
    assert trio.current_time() > 60


async def test_an_outage_costs_no_attempt_and_no_repetition(tmp_path: Path, patient_clock: Any) -> None:
    """A minute without a provider in the middle of a sweep: every scenario completes, every call once."""

    def script(request: Any, n: int) -> Any:
        return whole({"error": {"message": "oops"}}, 503) if 100 <= trio.current_time() < 160 else whole(GOOD)

    end, journals, _ = await sweep(script, tmp_path, seeds=6, budget=Budget())
    assert [report.outcome.ending for report in end.reports] == [Ending.COMPLETED] * 6
    for journal in journals:
        assert [event.call for event in journal if isinstance(event, CallCompleted)] == [0] * 4
