"""What a request to a model used, and how it ended: the values that the gateway keeps and that reports add up.

Raw counts are kept as the provider sent them; prices come later (:mod:`stamina.pricing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import attrs


@attrs.frozen
class Usage:
    """Tokens of one request.

    The providers count differently; here the parts are always inside the whole.

    Attributes:
        input: all input tokens, those read from and written to a cache included.
        output: all output tokens, reasoning included.
        cached: of ``input``, read from the provider's cache.
        cache_writes: of ``input``, written to the provider's cache.
        reasoning: of ``output``.
        raw: the provider's own object.
    """

    input: int
    output: int
    cached: int = 0
    cache_writes: int = 0
    reasoning: int = 0
    raw: Mapping[str, Any] = attrs.field(factory=dict, eq=False)


class How(StrEnum):
    """How a request ended."""

    ANSWERED = "answered"
    """A whole answer with a status below 400."""
    REJECTED = "rejected"
    """A whole answer with a status from 400 on that is the agent's own doing, such as a context that is too long."""
    PROVIDER = "provider"
    """The provider failed: status 5xx or 429, no connection, an answer that is none, or one that was cut off."""
    SILENT = "silent"
    """The provider sent nothing for too long, and was given up."""
    ABANDONED = "abandoned"
    """The agent hung up, or was ended."""
    REFUSED = "refused"
    """The gateway did not pass it on: bad token, unknown model, oversized body, budget."""


@attrs.frozen
class Begun:
    """A request that went to a provider and has not ended: what is known of it from the start. The attributes are those of :class:`ModelRequest`."""

    turn: int
    attempt: int
    call: int
    number: int
    protocol: str
    model: str
    at: float
    bytes_in: int

    def ended(self, how: How, status: int | None, usage: Usage | None, seconds: float) -> ModelRequest:
        """With what became of it."""
        return ModelRequest(**attrs.asdict(self), how=how, status=status, usage=usage, seconds=seconds)

    def lost(self) -> ModelRequest:
        """As what it is taken for when we were killed before its end: nobody knows what it used."""
        return attrs.evolve(self.ended(How.ABANDONED, None, None, 0.0), detail=LOST)


LOST: Final = "stamina was killed before it ended"
"""The detail of such a request."""


@attrs.frozen
class ModelRequest:
    """One request to a model, as a line of a scenario's ``usage.jsonl``.

    Attributes:
        turn, attempt, call: which agent call made it.
        number: counts the scenario's requests, from 0.
        protocol: as in :class:`stamina.protocols.Protocol`.
        model: the name in the sweep file.
        how: how it ended; ``detail`` says more where it did not end well.
        status: what the agent was told, None when it hung up before.
        usage: None when it is unknown, as for an answer that was cut off.
        at: when it came, seconds since 1970.
        seconds: until its end; ``held`` of them it waited in the gateway (limits, outages), ``first_byte`` is when the answer began, None when it did not.
        tries: how often it was sent to the provider.
        bytes_in, bytes_out: of the request's body and of the answer.
    """

    turn: int
    attempt: int
    call: int
    number: int
    protocol: str
    model: str
    how: How
    status: int | None
    usage: Usage | None
    at: float
    seconds: float
    held: float = 0.0
    first_byte: float | None = None
    tries: int = 1
    bytes_in: int = 0
    bytes_out: int = 0
    detail: str = ""
