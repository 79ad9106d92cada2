"""Providers in trouble, money that ends, and secrets: through real sockets, in time that jumps."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.gateway.interfaces import Caller
from actors.gateway.redact import SHOWN, Redactor
from actors.gateway.requests import HttpRequest
from stamina.config.model import Budget
from stamina.usage import How, Usage
from tests.actors.gateway.stub import CUT, ENVIRONMENT, HANG, PATHS, PRICE, Pieces, bench, events, hang_up_after, stream, whole
from tests.waiting import until_true

GOOD = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
SECRET = ENVIRONMENT["OPENAI_API_KEY"]


async def test_too_many_requests_are_waited_out_and_cost_the_agent_nothing(patient_clock: Any) -> None:
    """The agent sees one answer; the waiting is not on its clock."""
    async with bench(lambda request, n: whole({"error": {"message": "slow"}}, 429, "retry-after: 7") if n < 3 else whole(GOOD)) as gate:
        answer = await gate.ask()
        held = gate.seat.held_seconds
    assert answer.status_code == 200
    assert held == pytest.approx(21, abs=1)
    assert [(request.how, request.tries, request.usage) for request in gate.requests] == [(How.ANSWERED, 4, Usage(1000, 100))]
    assert gate.requests[0].held == pytest.approx(21, abs=1)


async def test_too_many_requests_for_ever_are_passed_on_in_the_end(patient_clock: Any) -> None:
    """As the provider said it."""
    async with bench(lambda request, n: whole({"error": {"message": "slow"}}, 429, "retry-after: 100")) as gate:
        answer = await gate.ask()
    assert (answer.status_code, answer.json()) == (429, {"error": {"message": "slow"}})
    assert (gate.requests[0].how, gate.requests[0].usage) == (How.PROVIDER, Usage(0, 0))


async def test_a_failure_before_the_first_byte_is_tried_again(patient_clock: Any) -> None:
    """Three times in all; then the agent is told what the provider said."""
    async with bench(lambda request, n: whole({"error": {"message": "oops"}}, 500) if n in (0, 1, 3, 4, 5) else whole(GOOD)) as gate:
        assert (await gate.ask()).status_code == 200
        failed = await gate.ask()
        assert gate.seat.trouble
        assert (await gate.ask()).status_code == 200
        assert gate.seat.trouble is None
    assert (failed.status_code, failed.json()) == (500, {"error": {"message": "oops"}})
    assert [(request.how, request.tries) for request in gate.requests] == [(How.ANSWERED, 3), (How.PROVIDER, 3), (How.ANSWERED, 1)]


async def test_the_agents_own_mistakes_are_passed_on_at_once() -> None:
    """Such as a conversation that is too long."""
    error = {"error": {"message": "maximum context length", "code": "context_length_exceeded"}}
    async with bench(lambda request, n: whole(error, 400)) as gate:
        answer = await gate.ask()
    assert (answer.status_code, answer.json()) == (400, error)
    assert (gate.requests[0].how, gate.requests[0].tries) == (How.REJECTED, 1)


async def test_the_outage_drill(patient_clock: Any) -> None:
    """Down for a minute in the middle of twenty scenarios: each has all its answers, nobody was told of a failure, and one message says so."""
    down_from, down_to = 10.0, 70.0

    def script(request: HttpRequest, n: int) -> Pieces:
        return whole({"error": {"message": "oops"}}, 503) if down_from <= trio.current_time() < down_to else whole(GOOD)

    async with bench(script) as gate:

        async def scenario(number: int) -> None:
            with gate.gate.seat(Caller("cell", 100 + number, 0), gate.model) as seat:
                seat.begin(0, 0, 0)
                for _ in range(8):
                    answer = await gate.ask(token=seat.token)
                    assert answer.status_code == 200
                    await trio.sleep(3)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(scenario, number)
    assert [request.how for request in gate.requests] == [How.ANSWERED] * 160
    assert [bool(trouble.reason) for trouble in gate.troubles] == [True, False]
    assert "status 503" in gate.troubles[0].reason
    assert max(request.held for request in gate.requests) > 30


async def test_refused_credentials_hold_everybody_until_they_are_good(patient_clock: Any) -> None:
    """Keys are looked up anew; the message holds none."""
    async with bench(lambda request, n: whole({"error": {"message": f"bad key {SECRET}"}}, 401) if n < 3 else whole(GOOD)) as gate:
        answer = await gate.ask()
    assert answer.status_code == 200
    assert [bool(trouble.reason) for trouble in gate.troubles] == [True, False]
    assert "credentials" in gate.troubles[0].reason


async def test_a_missing_key_says_what_to_do(patient_clock: Any) -> None:
    """And is no agent's fault: the request waits."""
    async with bench(lambda request, n: whole(GOOD), api_key_env="NOT_SET_ANYWHERE") as gate:
        with trio.move_on_after(20):
            await gate.ask()
        assert gate.troubles[0].reason.startswith("model m: there are no credentials; set the variable NOT_SET_ANYWHERE")
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ABANDONED, Usage(0, 0))]


async def test_budgets_bind_while_many_ask_at_once() -> None:
    """Reserved before, settled after: what was spent is within the limit, and what was refused says which limit."""
    async with bench(lambda request, n: whole(GOOD), budget=Budget(sweep_usd=0.02), price=PRICE) as gate:
        statuses: list[int] = []

        async def ask() -> None:
            answer = await gate.ask(max_tokens=100, padding="x" * 3700)
            statuses.append(answer.status_code)

        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(ask)
    spent = statuses.count(200) * (1000 * 1.0 + 100 * 2.0) / 1e6
    # A reservation is at most 0.0021: a token for two of some 3,800 bytes, and 100 of output. No more than that is left unused.
    assert 0.02 - 0.0021 < spent <= 0.02
    assert set(statuses) == {200, 402}
    assert gate.seat.exhausted is not None
    assert gate.seat.exhausted.startswith("[budget] sweep_usd = $0.02")
    assert gate.gate.money.ledger.closed


async def test_an_answer_that_was_cut_off_is_paid_for_as_if_it_had_cost_all() -> None:
    """Nobody knows what it cost; a limit must hold all the same."""
    budget = Budget(scenario_usd=0.03)
    async with bench(lambda request, n: stream(events({"choices": []}), CUT), budget=budget, price=PRICE) as gate:
        first = await gate.ask(stream=True, max_tokens=10_000)
        second = await gate.ask(stream=True, max_tokens=10_000)
    assert (first.status_code, second.status_code) == (200, 402)


async def test_a_token_dies_with_its_scenario() -> None:
    """And never was another scenario's."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        with gate.gate.seat(Caller("cell", 2, 0), gate.model) as other:
            assert (await gate.ask(token=other.token)).status_code == 200
        assert (await gate.ask(token=other.token)).status_code == 401
        assert other.token not in repr(other)


async def test_an_agent_that_hangs_up_ends_its_request() -> None:
    """The provider is not kept busy for nobody."""
    async with bench(lambda request, n: stream(events({"choices": []}), HANG)) as gate:
        await hang_up_after(b"choices", gate.url, gate.seat.token, PATHS["chat"], {"model": "m", "stream": True, "messages": []})
        await until_true(lambda: gate.requests)
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ABANDONED, None)]


async def test_planted_keys_appear_nowhere(patient_clock: Any) -> None:
    """Though the provider repeats them, in all forms, in errors that are passed on and written down."""
    forms = [SECRET, quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode(), base64.b64encode(b"x" + SECRET.encode()).decode()]
    async with bench(lambda request, n: whole({"error": {"message": " ".join(forms)}}, 500 if n < 3 else 400)) as gate:
        answers = [await gate.ask(), await gate.ask()]
    written = json.dumps([str(request) for request in gate.requests]) + str(gate.troubles) + gate.seat.trouble.__repr__()
    for text in (*(answer.text for answer in answers), written):
        assert SECRET not in text
        assert base64.b64encode(SECRET.encode()).decode()[:-4] not in text
    assert all(SHOWN in answer.text for answer in answers)


@given(st.text(min_size=8, max_size=40), st.binary(max_size=10), st.binary(max_size=10))
def test_secrets_are_found_by_value_in_every_form(secret: str, before: bytes, after: bytes) -> None:
    """As they are, and within base64 of something larger; wherever they stand."""
    redactor = Redactor([secret])
    raw = secret.encode("utf-8", "surrogatepass")
    hidden = base64.b64encode(before + raw + after).decode()
    assert SHOWN in redactor.text(f"a {secret} b") or secret == SHOWN
    assert SHOWN in redactor.text(hidden)
    assert SHOWN.encode() in redactor.data(before + raw + after)
    assert redactor.data(before + raw + after) == redactor.data(before + raw + after + bytes(5000))[:-5000]
    assert redactor.value({"k": ["x", quote(secret, safe="")]})["k"][1] in (SHOWN, quote(secret, safe=""))


async def test_a_whole_answer_that_was_cut_off_leaves_usage_unknown(patient_clock: Any) -> None:
    """It is asked for again, but the first one was paid for too, and nobody knows how much."""
    cut = [whole(GOOD)[0][:-10], CUT]
    async with bench(lambda request, n: cut if n == 0 else whole(GOOD), budget=Budget(sweep_usd=1), price=PRICE) as gate:
        assert (await gate.ask(max_tokens=1000)).json() == GOOD
        spent = gate.gate.money.ledger.spent()
    assert [(request.how, request.usage, request.tries) for request in gate.requests] == [(How.ANSWERED, None, 2)]
    assert spent > (1000 + 2 * 100) * 1_000_000 + 1000 * 2_000_000


async def test_an_agent_that_hangs_up_behind_the_last_event_has_its_answer() -> None:
    """Many clients do not wait for the end of the body."""
    last = events({"choices": [], "usage": GOOD["usage"]}, b"[DONE]")
    async with bench(lambda request, n: stream(events({"choices": [{"delta": {}, "finish_reason": "stop"}]}), last, HANG)) as gate:
        body = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}}
        await hang_up_after(b"[DONE]", gate.url, gate.seat.token, PATHS["chat"], body)
        await until_true(lambda: gate.requests)
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ANSWERED, Usage(1000, 100))]
