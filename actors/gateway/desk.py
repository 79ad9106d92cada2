"""What all requests to one model share: its upstream, its gate, its price, and the sweep's money and books."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs
import trio

from actors.gateway.bodies import Prepared
from actors.gateway.budget import UNIT, Answer, Ledger
from actors.gateway.gate import Gate
from actors.gateway.interfaces import Caller, Recorder, Upstream
from actors.gateway.redact import Redactor
from stamina.config.model import ModelConfig, Price
from stamina.pricing import at_list_price
from stamina.usage import Begun, ModelRequest, Usage

USUAL_OUTPUT: Final = 8192
"""Output tokens that are reckoned with where a request does not say how many it may get."""

BYTES_PER_TOKEN: Final = 4
"""What limits and estimates go by."""

RESERVED_BYTES_PER_TOKEN: Final = 2
"""What a reservation goes by: code and JSON rarely take fewer bytes a token, and money that is set aside too much comes back. No count of bytes is a proof:
text of many scripts can take fewer, and then a request under way may pass a limit by the difference; the next one is refused."""

WHOLE_PATIENCE: Final = 4
"""How many times longer an answer may take that comes as a whole."""

Begin: TypeAlias = Callable[[Caller, Begun], None]
"""Writes down that a request goes to the provider. Quick; called in the event loop."""

Write: TypeAlias = Callable[[Caller, ModelRequest], None]
"""Writes one request down for good. Quick; called in the event loop."""


class Money:
    """The ledger, with waiting: for money that is promised to requests under way."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._settled = trio.Event()

    async def reserve(self, caller: Caller, amount: int) -> str | None:
        """Set an amount aside. Why that cannot be, None when it is done."""
        while True:
            decision = self.ledger.ask(caller, amount)
            if decision.answer is Answer.NO:
                return decision.reason
            if decision.answer is Answer.YES:
                self.ledger.reserve(caller, amount)
                return None
            await self._settled.wait()

    def settle(self, caller: Caller, reserved: int, spent: int) -> None:
        """See :class:`actors.gateway.budget.Ledger`."""
        self.ledger.settle(caller, reserved, spent)
        self._settled.set()
        self._settled = trio.Event()


@attrs.frozen(eq=False)
class Desk:
    """One model's desk.

    Attributes:
        price: None when unknown; then nothing is set aside, which a budget does not allow.
        recorder: None records nothing.
        clock: seconds since 1970.
        recorded: the upstream is a recording: what it answers is final.
    """

    model: ModelConfig
    upstream: Upstream
    gate: Gate
    money: Money
    price: Price | None
    begin: Begin
    write: Write
    recorder: Recorder | None
    redactor: Redactor
    clock: Callable[[], float]
    recorded: bool = False

    def idle(self, prepared: Prepared) -> float:
        """Seconds without a byte after which the provider is given up. An answer that is no stream comes with its last token, so it gets more."""
        return self.model.model_idle_seconds * (1 if prepared.stream else WHOLE_PATIENCE)

    def tokens(self, prepared: Prepared) -> int:
        """About how many tokens a request takes and gives."""
        return len(prepared.body) // BYTES_PER_TOKEN + min(self._output(prepared), USUAL_OUTPUT)

    def worst_cost(self, prepared: Prepared) -> int:
        """The most that a request is reckoned to cost, in the ledger's units."""
        return self.list_cost(Usage(len(prepared.body) // RESERVED_BYTES_PER_TOKEN, self._output(prepared)))

    def list_cost(self, usage: Usage) -> int:
        """What a request cost, in the ledger's units."""
        return 0 if self.price is None else round(at_list_price(usage, self.price) * UNIT)

    def _output(self, prepared: Prepared) -> int:
        """No answer is longer than the model's window, whatever a request says."""
        return USUAL_OUTPUT if prepared.output is None else min(prepared.output, self.model.context_window)
