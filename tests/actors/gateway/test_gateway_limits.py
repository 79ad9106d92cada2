"""Budgets, limits, fairness and outages: their values alone, and in virtual time."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from actors.gateway.allowance import Allowance, Bucket
from actors.gateway.budget import UNIT, Answer, Ledger
from actors.gateway.gate import Gate, Trouble
from actors.gateway.interfaces import Caller
from actors.gateway.judging import Failed, PassOn, Refusal, judge, retry_after
from actors.gateway.outage import Kind
from stamina.config.model import Budget, ModelConfig, Price, Provider
from stamina.pricing import PAPER, at_list_price, cost, plain, price_of
from stamina.usage import Usage

MODEL = ModelConfig("m", Provider.OPENAI, "m", 100_000, "http://127.0.0.1:1/v1")
CALLERS = [Caller("cell", seed, 0, turn, 0, call) for seed in (1, 2) for turn in (0, 1) for call in (0, 1)]


@given(st.lists(st.tuples(st.sampled_from(CALLERS), st.integers(0, 40), st.booleans()), max_size=60))
def test_no_limit_is_ever_promised_away(steps: list[tuple[Caller, int, bool]]) -> None:
    """Whatever is asked in whatever order: what is spent and promised stays within every limit as long as nothing costs more than was set aside."""
    ledger = Ledger(Budget(scenario_usd=60e-12, sweep_usd=100e-12, turn_usd=50e-12, call_usd=30e-12))
    out: list[tuple[Caller, int]] = []
    spent: list[tuple[Caller, int]] = []
    for caller, amount, settle in steps:
        if ledger.ask(caller, amount).answer is Answer.YES:
            ledger.reserve(caller, amount)
            out.append((caller, amount))
        if settle and out:
            who, promised = out.pop(0)
            ledger.settle(who, promised, promised)
            spent.append((who, promised))
        held = out + spent
        assert sum(amount for _, amount in held) <= 100
        for one in CALLERS:
            assert sum(amount for who, amount in held if who.scenario == one.scenario) <= 60
            assert sum(amount for who, amount in held if (who.scenario, who.turn) == (one.scenario, one.turn)) <= 50
            assert sum(amount for who, amount in held if who == one) <= 30


def test_money_that_may_come_back_is_waited_for() -> None:
    """NO is for what can never be; LATER for what others have set aside."""
    ledger = Ledger(Budget(sweep_usd=1.0))
    ledger.reserve(CALLERS[0], UNIT * 6 // 10)
    assert ledger.ask(CALLERS[1], UNIT // 2).answer is Answer.LATER
    ledger.settle(CALLERS[0], UNIT * 6 // 10, UNIT // 10)
    assert ledger.ask(CALLERS[1], UNIT // 2).answer is Answer.YES
    no = ledger.ask(CALLERS[1], UNIT)
    assert (no.answer, ledger.closed) == (Answer.NO, no.reason)
    assert no.reason == "[budget] sweep_usd = $1: $0.1 are spent, and the next request may cost $1"


@given(st.lists(st.tuples(st.integers(1, 500), st.floats(0, 5)), min_size=1, max_size=50))
def test_a_bucket_never_gives_more_than_its_rate(asked: list[tuple[int, float]]) -> None:
    """Over any time: the rate, and one bucket beside it."""
    bucket, now, taken = Bucket(6000.0), 0.0, 0
    for amount, pause in asked:
        now += pause + bucket.wait(amount, now + pause)
        assert bucket.wait(amount, now) == pytest.approx(0.0, abs=1e-6)
        bucket.take(amount, now)
        taken += amount
    assert taken <= 600 + now * 100 + 500 + 1e-6


def test_the_window_halves_at_a_refusal_and_grows_back() -> None:
    """Refusals that come together count once."""
    allowance = Allowance(64)
    for _ in range(64):
        allowance.start(0, 0.0)
    allowance.refused(10.0, 5.0)
    allowance.refused(10.1, 2.0)
    assert (allowance.window, allowance.not_before) == (32.0, 15.0)
    for _ in range(64):
        allowance.end(0, 0, 11.0)
    assert allowance.wait(0, 11.0) == 4.0
    for _ in range(3000):
        allowance.answered()
    assert allowance.window == 64.0


async def test_scenarios_take_turns(autojump_clock: Any) -> None:
    """One that asks for forty at once does not push back the one that asks for two."""
    gate = Gate(attrs.evolve(MODEL, max_in_flight=1), lambda trouble: None)
    order: list[str] = []

    async def ask(who: str) -> None:
        turn = await gate.enter(who, 0)
        order.append(who)
        await trio.sleep(1)
        turn.close(0)

    async with trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(ask, "greedy")
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(2):
            nursery.start_soon(ask, "modest")
    assert [place for place, who in enumerate(order) if who == "modest"] == [2, 4]
    assert trio.current_time() == pytest.approx(42, abs=1)


async def test_whoever_gives_up_leaves_the_queue_whole(autojump_clock: Any) -> None:
    """Cancelled while waiting, and just as it was let go."""
    gate = Gate(attrs.evolve(MODEL, max_in_flight=1), lambda trouble: None)
    first = await gate.enter("a", 0)
    with trio.move_on_after(5):
        await gate.enter("b", 0)
    first.close(0)
    (await gate.enter("c", 0)).close(0)
    assert gate.allowance.in_flight == 0


async def test_requests_a_minute_are_kept(autojump_clock: Any) -> None:
    """Two hundred at sixty a minute take over three minutes."""
    gate = Gate(attrs.evolve(MODEL, requests_per_minute=60), lambda trouble: None)
    for number in range(200):
        (await gate.enter(number % 7, 0)).close(0)
    assert trio.current_time() == pytest.approx(200 - 6, abs=2)


async def test_an_outage_holds_everybody_probes_and_goes_on_by_itself(autojump_clock: Any) -> None:
    """One message each way; while it lasts only one request at a time goes through."""
    told: list[Trouble] = []
    gate = Gate(MODEL, told.append)
    sent: list[float] = []

    async def scenario(number: int) -> None:
        while True:
            turn = await gate.enter(number, 0)
            sent.append(trio.current_time())
            if trio.current_time() < 60:
                turn.failed(Kind.STATUS, "status 500")
                turn.close(0)
                continue
            turn.answered()
            turn.close(0)
            return

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(scenario, number)
    assert [bool(trouble.reason) for trouble in told] == [True, False]
    assert told[1].seconds == pytest.approx(sent[-1], abs=1)
    probes = [at for at in sent if 0 < at < 60]
    assert len(probes) == len(set(probes)) <= 5
    assert 60 <= sent[-1] <= 130


async def test_one_scenarios_failures_are_its_own(autojump_clock: Any) -> None:
    """Until a second one fails too; a refused key or a closed port concerns everyone at once."""
    for kind, down in ((Kind.STATUS, False), (Kind.CONNECTION, True), (Kind.CREDENTIALS, True)):
        gate = Gate(MODEL, lambda trouble: None)
        for _ in range(5):
            if gate.down is None:
                turn = await gate.enter("one", 0)
                turn.failed(kind, "reason")
                turn.close(0)
        assert (gate.down is not None) is down


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [((("retry-after", "7"),), 7.0), ((("retry-after-ms", "1500"),), 1.5), ((("retry-after", "soon"),), 8.0), ((), 8.0), ((("retry-after", "999999"),), 900.0)],
)
def test_a_refusal_says_how_long(headers: tuple[tuple[str, str], ...], seconds: float) -> None:
    """Or it gets longer each time."""
    assert retry_after(headers, 2) == seconds


def test_answers_are_judged_by_whose_fault_they_are() -> None:
    """The agent's own mistakes pass, everything else has a culprit."""
    assert judge(200, (), b"", 0) == PassOn()
    assert judge(400, (), b'{"error":{"message":"context length"}}', 0) == PassOn()
    assert isinstance(judge(429, (), b"slow down", 0), Refusal)
    for status, body, kind in (
        (500, b"", Kind.STATUS),
        (529, b"", Kind.STATUS),
        (401, b"", Kind.CREDENTIALS),
        (429, b'"insufficient_quota"', Kind.CREDENTIALS),
    ):
        verdict = judge(status, (), body, 0)
        assert isinstance(verdict, Failed)
        assert verdict.kind is kind


def test_prices_are_exact_and_unknown_is_not_nothing() -> None:
    """Cached tokens without a price make the cost unknown, not the budget."""
    usage = Usage(1_000_000, 500_000, cached=200_000)
    assert cost(Usage(1_000_000, 500_000), Price(0.6, 2.08)) == pytest.approx(1.64)
    assert cost(usage, Price(0.6, 2.08)) is None
    assert cost(usage, None) is None
    assert cost(usage, Price(0.6, 2.08, 0.06)) == pytest.approx(0.48 + 0.012 + 1.04)
    assert float(at_list_price(usage, Price(0.6, 2.08))) == pytest.approx(1.64)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("zai.glm-5", "GLM-5"),
        ("moonshotai.kimi-k2.5", "Kimi K2.5"),
        ("qwen.qwen3-coder-next", "Qwen3-Coder-Next"),
        ("Qwen/Qwen3.5-122B-A10B", "Qwen3.5-122B"),
        ("devstral-small-2", "Devstral Small 2"),
    ],
)
def test_the_papers_prices_are_found_under_the_providers_names(model: str, name: str) -> None:
    """A price in the sweep file goes first."""
    assert plain(model) == plain(name)
    assert PAPER.find(model) == PAPER.prices[name]
    assert price_of(attrs.evolve(MODEL, id=model, price=Price(9, 9))) == Price(9, 9)
    assert PAPER.find("glm-5-air") is None
