"""What requests to a model came to: tokens, money, and how much of both is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from fractions import Fraction

import attrs

from stamina.config.model import Price
from stamina.pricing import cost
from stamina.usage import How, ModelRequest, Usage


@attrs.frozen
class Spending:
    """The sum of some requests. Sums are of what is known; nothing that is unknown counts as 0 without being counted here.

    Attributes:
        requests: all that were passed on to a provider.
        measured: of these, with known usage.
        priced: of these, with known cost.
        input, output: tokens, with their parts ``cached`` and ``reasoning``.
        usd: the cost of the priced ones.
        turns: turn ► (input tokens, cached ones of them).
    """

    requests: int = 0
    measured: int = 0
    priced: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    usd: Fraction = Fraction()
    turns: Mapping[int, tuple[int, int]] = attrs.field(factory=dict)

    @property
    def coverage(self) -> float | None:
        """The share of requests whose usage is known; None without requests."""
        return self.measured / self.requests if self.requests else None

    @property
    def cost(self) -> float | None:
        """USD, None when the cost of any request is unknown."""
        return float(self.usd) if self.priced == self.requests else None

    def plus(self, other: Spending) -> Spending:
        """Both together."""
        turns = {turn: _added(self.turns.get(turn, (0, 0)), other.turns.get(turn, (0, 0))) for turn in sorted({*self.turns, *other.turns})}
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in attrs.fields(Spending) if field.name != "turns"}
        return Spending(**sums, turns=turns)


def spending(requests: Iterable[ModelRequest], price: Price | None) -> Spending:
    """Add up one scenario's requests."""
    each = [_one(request.turn, request.usage, price) for request in requests if request.how is not How.REFUSED]
    while len(each) > 1:  # in pairs: adding them one by one would copy the turns for each
        each = [one.plus(other) for one, other in itertools.zip_longest(each[::2], each[1::2], fillvalue=Spending())]
    return each[0] if each else Spending()


def _one(turn: int, usage: Usage | None, price: Price | None) -> Spending:
    if usage is None:
        return Spending(requests=1)
    usd = cost(usage, price)
    return Spending(
        requests=1,
        measured=1,
        priced=int(usd is not None),
        input=usage.input,
        cached=usage.cached,
        output=usage.output,
        reasoning=usage.reasoning,
        usd=usd or Fraction(),
        turns={turn: (usage.input, usage.cached)},
    )


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
