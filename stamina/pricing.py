"""Prices: raw usage in, USD out. An unknown price is None, never 0.

A price in the sweep file comes first; else a dated table is asked for the model's id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import attrs

from stamina.config.model import ModelConfig, Price
from stamina.usage import Usage

MILLION: Final = 1_000_000


@attrs.frozen
class PriceTable:
    """Prices as they were on a day.

    Attributes:
        name: what it is called in reports.
        date: of the prices, as far as it is known.
        source: where they come from.
        prices: by the name of the model; see :func:`plain` for how names are compared.
    """

    name: str
    date: str
    source: str
    prices: Mapping[str, Price]

    def find(self, model_id: str) -> Price | None:
        """The price of a model, None when the table does not have it."""
        wanted = plain(model_id)
        return next((price for name, price in self.prices.items() if plain(name) == wanted), None)


PAPER: Final = PriceTable(
    name="paper-table-5",
    date="2026",
    source="StaminaBench, Table 5",
    prices={
        "Devstral 2": Price(0.40, 2.00),
        "Devstral Small 2": Price(0.10, 0.30),
        "GLM-5": Price(0.60, 2.08),
        "Kimi K2.5": Price(0.44, 2.00),
        "Nemotron Super": Price(0.09, 0.45),
        "Qwen3-Coder-Next": Price(0.12, 0.80),
        "Qwen3.5-122B": Price(0.26, 2.08),
    },
)
"""What the paper computed its costs with; it gives no prices for cached input."""


def plain(model_id: str) -> str:
    """A model's name without vendor, version suffix, size of the active part and punctuation: ``zai.glm-5`` and ``GLM-5`` are the same model."""
    name = re.sub(r"^.*/|^(?:[a-z]{2}\.)?(?:zai|mistral|moonshotai|moonshot|nvidia|qwen|anthropic|openai|deepseek)\.(?=[a-z])", "", model_id.strip().lower())
    name = re.sub(r"-a\d+b\b|-v\d+(?::\d+)?$|:\d+$|-instruct$", "", name)
    return re.sub(r"[^a-z0-9]", "", name)


def price_of(model: ModelConfig, table: PriceTable = PAPER) -> Price | None:
    """What a model costs: as the sweep file says, else as the table says, else unknown."""
    return model.price or table.find(model.id)


def cost(usage: Usage, price: Price | None) -> Fraction | None:
    """USD for one request, exactly. None when the price is unknown, also when only that of cached tokens is, and there were some.

    A price without ``cached_input`` is for a table that has none: see :func:`at_list_price` for what such a table's own arithmetic gives.
    """
    if price is None or (usage.cached and price.cached_input is None) or (usage.cache_writes and price.cache_write is None):
        return None
    rest = max(0, usage.input - usage.cached - usage.cache_writes)
    parts = ((rest, price.input), (usage.cached, price.cached_input), (usage.cache_writes, price.cache_write), (usage.output, price.output))
    return _sum(parts)


def at_list_price(usage: Usage, price: Price) -> Fraction:
    """USD for one request with no discount and no surcharge for a cache: what budgets are kept by where the prices of the cache are unknown."""
    reads = price.input if price.cached_input is None else price.cached_input
    writes = price.input if price.cache_write is None else price.cache_write
    rest = max(0, usage.input - usage.cached - usage.cache_writes)
    return _sum(((rest, price.input), (usage.cached, reads), (usage.cache_writes, writes), (usage.output, price.output)))


def _sum(parts: tuple[tuple[int, float | None], ...]) -> Fraction:
    return sum((count * Fraction(str(price)) for count, price in parts if price is not None), Fraction()) / MILLION
