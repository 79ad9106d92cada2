"""The gateway of a sweep: all traffic between agents and models, keys and money in one place."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeAlias

import attrs
import structlog
import trio

from actors.gateway.budget import Ledger
from actors.gateway.credentials import GEMINI_KEYS, OPENAI_KEY
from actors.gateway.desk import Begin, Desk, Money, Write
from actors.gateway.dialects import Route, guess, model_card, model_list, route
from actors.gateway.exchange import Exchange
from actors.gateway.gate import Gate, Tell
from actors.gateway.http_client import HttpClient
from actors.gateway.interfaces import Caller, Recorder, Upstream
from actors.gateway.providers import provider
from actors.gateway.proxies import proxy_secrets
from actors.gateway.redact import Redactor
from actors.gateway.replying import JSON, Reply
from actors.gateway.requests import HttpRequest
from actors.gateway.seats import Seat
from actors.gateway.server import accept, listen
from actors.gateway.targets import token_of
from stamina.config.model import Budget, ModelConfig, Provider
from stamina.pricing import price_of
from stamina.protocols import compatible
from stamina.usage import Begun, ModelRequest

log = structlog.get_logger()

Upstreams: TypeAlias = Callable[[ModelConfig], Upstream | None]
"""Gives models another upstream than their provider's, such as a script or a recording; None leaves the provider's."""

SECRETS: Final = (
    OPENAI_KEY,
    *GEMINI_KEYS,
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
)
"""Variables whose values are taken out of all that is written."""


def no_other(model: ModelConfig) -> Upstream | None:
    """Every model is with its provider."""
    return None


def silently(trouble: object) -> None:
    """Nobody is told."""


def nowhere(caller: Caller, request: ModelRequest | Begun) -> None:
    """Nothing is written."""


@attrs.frozen
class Strayed:
    """A request that came to no model: of nobody, for nothing that is here. ``target`` and all else are a stranger's words, without a query."""

    method: str
    target: str
    status: int
    reason: str


@attrs.frozen
class Options:
    """What a gateway is made with.

    Attributes:
        models: by their names in the sweep file.
        budget: its limits.
        upstreams: see :data:`Upstreams`.
        begin: keeps that a request went to a provider, for when we are killed before its end.
        write: keeps the record of each request.
        tell: hears when a provider goes down and comes back.
        strayed: hears of each request that comes to no model.
        recorder: None records nothing.
        recorded: the upstreams are recordings: nobody is spared or waited for, and what they answer is final.
        redactor: knows all keys; whoever writes logs uses it too. By default a new one.
        environment: where keys are looked up.
        clock: seconds since 1970.
    """

    models: Mapping[str, ModelConfig]
    budget: Budget = attrs.field(factory=Budget)
    upstreams: Upstreams = no_other
    begin: Begin = nowhere
    write: Write = nowhere
    tell: Tell = silently
    strayed: Callable[[Strayed], None] = silently
    recorder: Recorder | None = None
    recorded: bool = False
    redactor: Redactor | None = None
    environment: Mapping[str, str] = attrs.field(factory=lambda: os.environ, repr=False)
    clock: Callable[[], float] = time.time


class Gateway:
    """See the module; made by :func:`gateway`.

    Attributes:
        redactor: see :class:`Options`.
        money: what is spent and promised.
    """

    def __init__(self, options: Options, nursery: trio.Nursery, client: HttpClient) -> None:
        self._options = options
        self._nursery = nursery
        self._client = client
        self._seats: dict[str, Seat] = {}
        self._desks: dict[str, Desk] = {}
        self.money = Money(Ledger(options.budget))
        self.redactor = options.redactor or Redactor()
        self.redactor.learn([*secrets_of(options.models.values(), options.environment), *proxy_secrets(options.environment)])

    def bind(self, host: str = "127.0.0.1", port: int = 0, *, early: bool = False) -> str:
        """Listen on one more address, until the gateway ends; returns its base URL. ``early`` as in :func:`actors.gateway.server.listen`. Raises HostFault.

        Everything that can reach the address can talk to the gateway; without a token it learns nothing.
        """
        listener = listen(host, port, early=early)
        bound = listener.getsockname()[1]
        self._nursery.start_soon(accept, listener, self._handle, self._nursery)
        return f"http://[{host}]:{bound}" if ":" in host else f"http://{host}:{bound}"

    @contextmanager
    def seat(self, caller: Caller, model: ModelConfig, *, number: int = 0) -> Iterator[Seat]:
        """A scenario's seat, for the length of the block; its token is worthless before and after. ``number`` counts on from an earlier run."""
        seat = Seat(caller, model, number=number)
        gate = self._desk(model).gate
        self._seats[seat.token] = seat
        gate.scenarios += 1
        try:
            yield seat
        finally:
            gate.scenarios -= 1
            del self._seats[seat.token]
            if self._options.recorder is not None:
                self._options.recorder.left(seat.caller)

    def down(self, model: ModelConfig) -> str | None:
        """Why a model's provider is down, None when it is up."""
        return self._desk(model).gate.down

    def _desk(self, model: ModelConfig) -> Desk:
        """Made with the model's first seat; raises ValueError for a scripted one that nobody scripted."""
        if model.name not in self._desks:
            options = self._options
            upstream = options.upstreams(model) or provider(model, self._client, options.environment, self.redactor.learn)
            limits = attrs.evolve(model, requests_per_minute=None, tokens_per_minute=None) if options.recorded else model
            gate = Gate(limits, options.tell)
            self._desks[model.name] = Desk(
                model, upstream, gate, self.money, price_of(model), self._begin, self._write, options.recorder, self.redactor, options.clock, options.recorded
            )
        return self._desks[model.name]

    def _begin(self, caller: Caller, begun: Begun) -> None:
        """As with :meth:`_write`."""
        try:
            self._options.begin(caller, begun)
        except Exception:
            log.exception("that a request was sent cannot be written", cell=caller.cell, seed=caller.seed, turn=caller.turn)

    def _write(self, caller: Caller, request: ModelRequest) -> None:
        """What cannot be written is lost, but harms neither the agent nor the money that is kept count of."""
        try:
            self._options.write(caller, attrs.evolve(request, detail=self.redactor.text(request.detail)))
        except Exception:
            log.exception("the record of a request cannot be written", cell=caller.cell, seed=caller.seed, turn=caller.turn)

    async def _handle(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request of somebody."""
        if request.method == "HEAD" or request.target.partition("?")[0] in ("/", "/health", "/api/hello"):
            await reply.whole(200, JSON, b"{}", bodiless=request.method == "HEAD")
            return
        found = route(request.method, request.target, dict(request.headers))
        token = token_of(request.target, request.headers)
        seat = self._seats.get(token) if token else None
        if seat is None:
            await self._refuse(request, reply, found, 401, "this token names no scenario that is being played")
        elif found is None:
            await self._refuse(request, reply, None, 404, f"the gateway has nothing at {request.method} {request.target.partition('?')[0][:200]}")
        else:
            with seat.talking():
                await self._serve(request, reply, found, seat)

    async def _serve(self, request: HttpRequest, reply: Reply, found: Route, seat: Seat) -> None:
        if found.operation is None:
            await self._list(request, reply, found, seat)
        elif (reason := compatible(found.protocol, seat.model)) is not None and seat.model.provider is not Provider.SCRIPTED:
            await self._refuse(request, reply, found, 404, f"model {seat.model.name!r} cannot be used like this: {reason}")
        else:
            await Exchange(self._desk(seat.model), seat, found, request, reply).run()

    async def _list(self, request: HttpRequest, reply: Reply, found: Route, seat: Seat) -> None:
        name, window = seat.model.name, seat.model.context_window
        if found.model is None:
            await reply.whole(200, JSON, model_list(found.protocol, name, window))
        elif found.model in seat.names:
            await reply.whole(200, JSON, model_card(found.protocol, name, window))
        else:
            await self._refuse(request, reply, found, 404, f"there is no model {found.model[:200]!r} here; the model of this scenario is {name!r}")

    async def _refuse(self, request: HttpRequest, reply: Reply, found: Route | None, status: int, reason: str) -> None:
        """In the protocol that it asked in, or is most likely to have."""
        self._options.strayed(Strayed(request.method, request.target.partition("?")[0][:200], status, reason))
        await reply.error(found.protocol if found else guess(request.target), status, reason)


def secrets_of(models: Iterable[ModelConfig], environment: Mapping[str, str]) -> list[str]:
    """The keys that a sweep may use, as far as the environment holds them."""
    names = (*SECRETS, *(model.api_key_env for model in models if model.api_key_env))
    return [value for name in dict.fromkeys(names) if (value := environment.get(name))]


@asynccontextmanager
async def gateway(options: Options) -> AsyncIterator[Gateway]:
    """A gateway for the length of the block. Requests that are under way when it ends are cut off; whoever uses it ends its agents first."""
    client = HttpClient(options.environment)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield Gateway(options, nursery, client)
        except Exception as error:
            # Raised again below, where no nursery wraps it in a group.
            failure = error
        finally:
            nursery.cancel_scope.cancel()
            client.close()
    if failure is not None:
        raise failure
