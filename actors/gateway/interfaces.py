"""What the parts of the gateway owe each other: who asks, whom it asks, and who writes down what passed.

The gateway reads a request of an agent, puts the model's own name and parameters into it, and hands it to an :class:`Upstream`, in the protocol it came in. A
real provider, a script and a recording are all upstreams, so usage, budgets, limits and errors are the same for them. A :class:`Recorder` sees exactly what
went into the upstream and what came out, so that a recording played back is an upstream again.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol as Interface
from typing import TypeAlias

import attrs

from stamina.config.model import ModelConfig
from stamina.errors import ProviderFault
from stamina.protocols import Protocol
from stamina.usage import How, Usage

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names in lower case, in the order in which they came."""


class Operation(StrEnum):
    """What is asked of a model. Lists of models and the like are answered by the gateway itself."""

    GENERATE = "generate"
    COUNT_TOKENS = "count_tokens"


@attrs.frozen
class Caller:
    """Who asks: a scenario, and where in it. Turn, attempt and call are as in :class:`stamina.turns.CallAgent`."""

    cell: str
    seed: int
    repeat: int
    turn: int = 0
    attempt: int = 0
    call: int = 0

    @property
    def scenario(self) -> tuple[str, int, int]:
        """Which scenario, whatever the turn."""
        return self.cell, self.seed, self.repeat


@attrs.frozen
class UpstreamRequest:
    """A request as the upstream gets it: the model's own name and parameters are in it, credentials are not.

    Attributes:
        caller: who asks.
        number: counts the requests of the scenario, from 0, over all runs of it.
        model: which model.
        protocol, operation: what is spoken, and what for.
        path: target in the provider's terms, such as ``/v1/messages?beta=true``.
        headers: those that mean something to a provider (content type, versions, betas), without credentials and framing.
        body: JSON.
        stream: whether events are asked for.
    """

    caller: Caller
    number: int
    model: ModelConfig
    protocol: Protocol
    operation: Operation
    path: str
    headers: Headers
    body: bytes
    stream: bool


class UpstreamFailed(ProviderFault):
    """The upstream gave no answer, or not all of it: no connection, cut off, not HTTP. One sentence without secrets."""


class ReplayMissed(UpstreamFailed):
    """A recording has no answer to this request; the message says what differs. The scenario cannot be played on."""


class CredentialsFailed(UpstreamFailed):
    """The provider's credentials are missing, expired or refused; the message says what to do. It concerns everyone, so the sweep waits."""


class UpstreamResponse(Interface):
    """An answer that has begun."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Headers:
        """Its headers, framing (length, transfer and content coding) left out."""
        ...

    async def receive(self) -> bytes:
        """More of the body: whatever has come, at least one byte; ``b""`` at its end. No content coding is left on it.

        Raises UpstreamFailed when it was cut off.
        """
        ...


class Upstream(Interface):
    """Answers requests. One object serves many at a time."""

    def open(self, request: UpstreamRequest) -> AbstractAsyncContextManager[UpstreamResponse]:
        """Ask. Entering waits for the answer's head, leaving gives up what was not read of it.

        Entering raises UpstreamFailed (CredentialsFailed when nobody will get an answer).
        """
        ...


@attrs.frozen
class ExchangeEnd:
    """How an exchange with an upstream ended.

    Attributes:
        how: see :class:`stamina.usage.How`.
        usage: None when unknown.
        detail: one sentence where it did not end well.
        seconds: from the sending of the request; ``first_byte`` until the head of the answer, None when there was none.
    """

    how: How
    usage: Usage | None
    detail: str = ""
    seconds: float = 0.0
    first_byte: float | None = None


class Recording(Interface):
    """Is told one exchange. Called in the event loop: quick, and it never raises. What it is told holds no secret."""

    def answered(self, status: int, headers: Headers) -> None:
        """The answer began. Not called when there was none."""
        ...

    def received(self, data: bytes) -> None:
        """A piece of the answer, as the upstream gave it."""
        ...

    def ended(self, end: ExchangeEnd) -> None:
        """The last call, in every case."""
        ...


class Recorder(Interface):
    """Writes down what passes between the gateway and its upstreams.

    Answers after which the gateway itself asks again (429, 5xx before the first byte) are not told: only the one that the agent gets.
    """

    def begin(self, request: UpstreamRequest) -> Recording:
        """An exchange begins; they may overlap. Called in the event loop: quick, and it never raises."""
        ...

    def left(self, caller: Caller) -> None:
        """The scenario is not played any more. Exchanges that are under way may still end afterwards. Quick, and it never raises."""
        ...
