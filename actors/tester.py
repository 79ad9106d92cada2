"""The tester: plays a suite against a server over HTTP."""

from __future__ import annotations

from typing import ClassVar

import attrs
import trio

from actors.http_client import ClientLimits, HttpClient
from actors.response_reader import SIZES, SizeLimits
from stamina.playing import Patience, playing
from stamina.suite import Suite, Verdict


@attrs.frozen
class TesterLimits:
    """Limits of a suite run.

    Attributes:
        answer_seconds: for each whole answer; the text states it (contract H9).
        timeouts_in_a_row: cases in a row that end in a timeout, after which the server is gone (L2).
        refusals_in_a_row: the same for a closed port.
        sizes: of a response.
    """

    __test__: ClassVar[bool] = False  # pytest takes a name that begins with Test for a class of tests.

    answer_seconds: float = 10
    timeouts_in_a_row: int = 3
    refusals_in_a_row: int = 2
    sizes: SizeLimits = SIZES


@attrs.frozen
class SuiteRun:
    """A verdict, and what it took: requests that were made, wall time in seconds."""

    verdict: Verdict
    requests: int
    seconds: float


async def run_suite(suite: Suite, address: tuple[str, int], limits: TesterLimits) -> Verdict:
    """Play a suite against the server at ``address`` (host, port). Never raises for what the server does.

    Raises:
        HostFault: this machine has no socket, port or memory left.
    """
    return (await time_suite(suite, address, limits)).verdict


async def time_suite(suite: Suite, address: tuple[str, int], limits: TesterLimits) -> SuiteRun:
    """:func:`run_suite`, with the number of requests and the wall time. Raises the same."""
    begun = trio.current_time()
    game = playing(suite, Patience(limits.timeouts_in_a_row, limits.refusals_in_a_row))
    with HttpClient(address, ClientLimits(limits.answer_seconds, limits.sizes)) as client:
        verdict = await client.ask_all(game)
    return SuiteRun(verdict, client.requests, trio.current_time() - begun)
