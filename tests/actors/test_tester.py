"""A suite over HTTP: verdict, requests, and many at once."""

from __future__ import annotations

from typing import Final

import attrs
import trio

from actors.tester import TesterLimits, run_suite, time_suite
from stamina.exchange import Answer, Request, Response
from stamina.suite import Case, Step, Suite
from tests.hostile.servers import GOOD, HONEST, Peer, always, answer, closed_port, serving
from tests.waiting import SECONDS

LIMITS: Final = TesterLimits(answer_seconds=SECONDS)


@attrs.frozen
class Body:
    """Expects these bytes."""

    expected: bytes

    def judge(self, request: Request, answer: Answer) -> str | None:
        return None if isinstance(answer, Response) and answer.body == self.expected else f"expected {self.expected!r}"


def suite(cases: int, body: bytes = GOOD) -> Suite:
    steps = (Step(Request("POST", "/reset"), Body(GOOD), setup=True), Step(Request("GET", "/thing"), Body(body)))
    return Suite(tuple(Case(f"case_{number}", "", "crud", (), (), 0, steps) for number in range(cases)))


async def test_a_verdict_says_what_came() -> None:
    """A failed case has the step, the request and the answer as it was."""

    async def behave(peer: Peer) -> None:
        while True:
            request = await peer.request()
            await peer.send(HONEST if request.startswith("POST") else answer(b'"boom"', "500 Internal Server Error"))

    async with serving(behave) as address:
        verdict = await run_suite(suite(2), address, LIMITS)

    failure = verdict.results[0].failure
    assert failure is not None
    assert (verdict.passed, verdict.total) == (0, 2)
    assert (failure.step, failure.request, failure.answer) == (1, Request("GET", "/thing"), Response(500, b'"boom"'))


async def test_a_run_counts_its_requests() -> None:
    """All of them when everything passes, fewer when cases stop early; none without cases."""
    async with serving(always(HONEST)) as address:
        runs = [await time_suite(played, address, LIMITS) for played in (suite(3), suite(3, b"other"), suite(0))]

    assert [(run.verdict.passed, run.requests) for run in runs] == [(3, 6), (0, 6), (0, 0)]
    assert [run.verdict.ok for run in runs] == [True, False, False]


async def test_a_suite_against_nobody_makes_two_requests() -> None:
    """The rest is not run (L2)."""
    run = await time_suite(suite(50), closed_port(), LIMITS)

    assert (run.requests, run.verdict.total, run.verdict.passed) == (2, 50, 0)


async def test_many_suites_share_a_process_in_turns() -> None:
    """No suite waits for another to finish: with all of them begun, each ends before any has a lead of its whole length."""
    active: set[int] = set()
    most = 0

    async def one(number: int, address: tuple[str, int]) -> None:
        nonlocal most
        active.add(number)
        verdict = await run_suite(suite(5), address, LIMITS)
        most = max(most, len(active))
        active.discard(number)
        assert verdict.ok

    async with serving(always(HONEST)) as address, trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(one, number, address)
    assert most == 50
