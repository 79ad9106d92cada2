"""Seats: a scenario's place at the gateway. Its token names it and nothing else, and dies with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from actors.gateway.interfaces import Caller
from stamina.config.model import ModelConfig
from stamina.usage import How


@attrs.define(eq=False)
class Seat:
    """One scenario at the gateway. The scenario says where it is (:meth:`begin`); the gateway keeps what became of the call's requests.

    Attributes:
        caller: who, and where in the scenario.
        model: what it may use.
        names: what its agent may call the model; the first is the one it is told.
        number: of the next request.
        served: requests of this call that were answered.
        trouble: why the last request of this call failed for the provider's reasons, None when it did not.
        exhausted: which limit of the budget is spent, None while there is money.
        missed: what a recording that is replayed does not have; None while it has all.
    """

    caller: Caller
    model: ModelConfig
    token: str = attrs.field(factory=lambda: secrets.token_urlsafe(32), repr=False)
    number: int = 0
    served: int = 0
    trouble: str | None = None
    exhausted: str | None = None
    missed: str | None = None
    _spent: trio.Event = attrs.field(factory=trio.Event)
    _held: float = 0.0
    _holding: int = 0
    _since: float = 0.0
    _waiting_since: dict[int, float] = attrs.field(factory=dict)
    _silent: bool = False
    _talking: int = 0
    _talked: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """See the class."""
        return self.model.name, self.model.id

    def begin(self, turn: int, attempt: int, call: int) -> None:
        """An agent call begins: requests from now on are its."""
        self.caller = attrs.evolve(self.caller, turn=turn, attempt=attempt, call=call)
        self.served, self.trouble, self._silent = 0, None, False
        self._held, self._since = 0.0, trio.current_time()
        self._talked = self._since

    def take_number(self) -> int:
        """The number of a new request."""
        self.number += 1
        return self.number - 1

    def exhaust(self, reason: str) -> None:
        """The money is spent."""
        self.exhausted = reason
        self._spent.set()

    def miss(self, reason: str) -> None:
        """The recording that is replayed has no answer."""
        self.missed = reason
        self._spent.set()

    async def wait_spent(self) -> None:
        """Until the money is spent, or the recording."""
        await self._spent.wait()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """The gateway keeps a request waiting: the call's clock stands still meanwhile."""
        self._holding += 1
        if self._holding == 1:
            self._since = trio.current_time()
        try:
            yield
        finally:
            self._holding -= 1
            if self._holding == 0:
                self._held += trio.current_time() - self._since

    @property
    def held_seconds(self) -> float:
        """Seconds of this call in which the gateway kept it waiting: limits, outages, repetitions of what the provider refused."""
        return self._held + (trio.current_time() - self._since if self._holding else 0.0)

    @contextmanager
    def talking(self) -> Iterator[None]:
        """A request of the agent is under way, from its bytes to the end of the answer."""
        self._talking += 1
        try:
            yield
        finally:
            self._talking -= 1
            self._talked = trio.current_time()

    @property
    def quiet_seconds(self) -> float:
        """Seconds since the last request of this call ended, or since the call began; 0 while one is under way, or kept waiting by us."""
        return 0.0 if self._talking else trio.current_time() - self._talked

    def asked(self, number: int) -> None:
        """A request is with the provider."""
        self._waiting_since[number] = trio.current_time()

    def heard(self, number: int) -> None:
        """The provider sent something for it."""
        self._waiting_since[number] = trio.current_time()

    def ended(self, number: int, how: How, detail: str) -> None:
        """It has ended."""
        self._waiting_since.pop(number, None)
        self.served += how is How.ANSWERED
        self._silent = how is How.SILENT or (self._silent and how is How.ABANDONED)
        if how in (How.PROVIDER, How.SILENT):
            self.trouble = detail
        elif how is not How.ABANDONED:
            self.trouble = None

    def silence(self, seconds: float) -> bool:
        """Whether the last thing between agent and model is the model's silence: a request given up for it, or one that has heard nothing for so long."""
        longest = min(self._waiting_since.values(), default=None)
        return self._silent or (longest is not None and trio.current_time() - longest >= seconds)
