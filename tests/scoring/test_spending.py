"""Sums over requests: what is unknown makes the sum unknown, never smaller without a word."""

from __future__ import annotations

from stamina.config.model import Price
from stamina.scoring.spending import Spending, spending
from stamina.usage import How, ModelRequest, Usage


def request(turn: int, usage: Usage | None, how: How = How.ANSWERED) -> ModelRequest:
    return ModelRequest(turn, 0, 0, 0, "chat", "m", how, 200, usage, 0.0, 1.0)


def test_tokens_costs_and_cache_hits_add_up() -> None:
    """By turn where it matters; refusals of our own went to nobody."""
    total = spending(
        [request(0, Usage(100, 10)), request(1, Usage(200, 20, 150)), request(1, Usage(100, 5, 90)), request(1, Usage(0, 0), How.REFUSED)], Price(1, 2, 0.1)
    )
    assert (total.requests, total.input, total.cached, total.output, total.coverage) == (3, 400, 240, 35, 1.0)
    assert total.turns == {0: (100, 0), 1: (300, 240)}
    assert total.cost == (160 + 24 + 70) / 1e6


def test_one_unknown_makes_the_cost_unknown() -> None:
    """Usage that is unknown, a price that is, and the price of cached tokens."""
    cut = spending([request(0, Usage(100, 10)), request(0, None, How.PROVIDER)], Price(1, 2))
    assert (cut.coverage, cut.cost, cut.usd > 0) == (0.5, None, True)
    assert spending([request(0, Usage(100, 10))], None).cost is None
    assert spending([request(0, Usage(100, 10, 50))], Price(1, 2)).cost is None
    assert (Spending().coverage, Spending().cost) == (None, 0.0)
