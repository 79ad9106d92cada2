"""Every hostile server of the catalogue ends in the outcome that docs/hostile-servers.md states, and disturbs no neighbour."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import pytest
import trio

from actors.response_reader import SizeLimits
from actors.tester import TesterLimits, run_suite
from tests.hostile.servers import SERVERS, DiesAfter, Peer, always, closed_port, never_accepting, serving
from tests.hostile.things import CASES, outcome, suite

LIMITS: Final = TesterLimits(answer_seconds=0.25, sizes=SizeLimits(head_bytes=64 * 1024, body_bytes=256 * 1024))
PATIENT: Final = TesterLimits(answer_seconds=120)
WHOLE_RUN: Final = 300
"""Seconds after which a run counts as hung; the limits above end every one long before."""

Outcome: TypeAlias = tuple[str, ...]


def every(outcome: str) -> Outcome:
    return (outcome,) * CASES


PASSED = every("passed")
GARBAGE = every("garbage")
CLOSED = every("closed")
TOO_LARGE = every("too large")
NOT_JSON_AT_ALL = every("not JSON")
HUNG = ("timeout", "timeout", "timeout", "not run", "not run")

EXPECTED: Final[dict[str, Outcome]] = {
    "honest": PASSED,
    "http-1.0": PASSED,
    "http-1.0-without-length": PASSED,
    "says-close": PASSED,
    "closes-without-notice": PASSED,
    "body-ends-with-connection": PASSED,
    "100-continue": PASSED,
    "early-hints": PASSED,
    "chunked": PASSED,
    "chunk-extensions-and-trailers": PASSED,
    "header-case": PASSED,
    "length-and-chunked": PASSED,
    "bare-line-feeds": PASSED,
    "no-reason-phrase": PASSED,
    "extra-answer": PASSED,
    "extra-bytes": PASSED,
    "garbage": GARBAGE,
    "another-protocol": GARBAGE,
    "http-2": GARBAGE,
    "switches-protocols": GARBAGE,
    "bad-status": GARBAGE,
    "negative-length": GARBAGE,
    "two-lengths": GARBAGE,
    "bad-chunk-size": GARBAGE,
    "empty-reply": CLOSED,
    "cut-in-headers": CLOSED,
    "cut-in-body": CLOSED,
    "cut-in-chunks": CLOSED,
    "reset": CLOSED,
    "reset-in-body": CLOSED,
    "endless-body": TOO_LARGE,
    "ten-gigabytes": TOO_LARGE,
    "endless-chunks": TOO_LARGE,
    "endless-headers": TOO_LARGE,
    "endless-header": TOO_LARGE,
    "endless-reason": TOO_LARGE,
    "endless-100-continue": TOO_LARGE,
    "endless-trailers": TOO_LARGE,
    "silent": HUNG,
    "silent-on-get": HUNG,
    "slow-loris": HUNG,
    "slow-body": HUNG,
    "claims-and-waits": HUNG,
    "deep-json": NOT_JSON_AT_ALL,
    "deep-but-closed-json": NOT_JSON_AT_ALL,
    "nan": NOT_JSON_AT_ALL,
    "duplicate-keys": every("wrong body"),
    "not-utf-8": NOT_JSON_AT_ALL,
    "gzip-unasked": NOT_JSON_AT_ALL,
    "redirect-elsewhere": every("302"),
    "no-content-with-body": every("204"),
    "no-content-that-claims-a-body": every("204"),
}


async def play(address: tuple[str, int], limits: TesterLimits = LIMITS) -> Outcome:
    """Run the suite; hanging is a failure of its own."""
    with trio.fail_after(WHOLE_RUN):
        verdict = await run_suite(suite(), address, limits)
    return tuple(outcome(result) for result in verdict.results)


@pytest.mark.parametrize("name", SERVERS)
async def test_each_server_has_its_outcome(name: str) -> None:
    """The cases of a suite end as the table says, one after the other."""
    # A limit that this machine could miss under load must not decide a case that is not about time.
    limits = LIMITS if EXPECTED[name] is HUNG else attrs.evolve(LIMITS, answer_seconds=PATIENT.answer_seconds)

    async with serving(SERVERS[name]) as address:
        assert await play(address, limits) == EXPECTED[name]


async def test_a_server_that_never_accepts_times_out() -> None:
    """A bound port with nobody behind it counts as hung."""
    async with never_accepting() as address:
        assert await play(address) == HUNG


async def test_a_closed_port_is_noticed_at_once() -> None:
    """Two refusals are enough; the rest does not run."""
    assert await play(closed_port(), PATIENT) == ("refused", "refused", "not run", "not run", "not run")


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        (4, ("passed", "passed", "refused", "refused", "not run")),
        (3, ("passed", "refused", "refused", "not run", "not run")),
    ],
)
async def test_a_server_that_dies_in_the_middle_fails_the_rest(requests: int, expected: Outcome) -> None:
    """What ran keeps its result, between cases and within one."""
    async with serving(DiesAfter(requests)) as address:
        assert await play(address, PATIENT) == expected


async def test_a_redirect_leads_nowhere() -> None:
    """The place that a redirect names is never visited."""
    visits = []

    async def elsewhere(peer: Peer) -> None:
        visits.append(await peer.request())

    async with serving(elsewhere) as (host, port):
        redirect = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{host}:{port}/\r\nContent-Length: 0\r\n\r\n".encode()
        async with serving(always(redirect)) as address:
            assert await play(address, PATIENT) == every("307")

    assert visits == []


async def test_no_neighbour_is_disturbed() -> None:
    """With every hostile server under test at once in this process, an honest server's suite passes."""
    verdicts = []

    async def neighbour() -> None:
        async with serving(SERVERS["honest"]) as address:
            verdicts.append(await run_suite(suite(100), address, PATIENT))

    async def attacked(name: str) -> None:
        async with serving(SERVERS[name]) as address:
            await play(address)

    with trio.fail_after(WHOLE_RUN):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(neighbour)
            for name in SERVERS:
                nursery.start_soon(attacked, name)

    assert [verdict.ok for verdict in verdicts] == [True]


def test_the_page_lists_every_server_with_its_outcome() -> None:
    """docs/hostile-servers.md and the table here agree."""
    page = (Path(__file__).parents[2] / "docs" / "hostile-servers.md").read_text()
    rows = dict(re.findall(r"^\| `([^`]+)` \|[^|]*\| ([^|]+) \|$", page.partition("## Whole scenarios")[0], re.MULTILINE))

    assert {name: ", ".join(dict.fromkeys(expected)) for name, expected in EXPECTED.items()} == rows
