"""The money: reserved before a request, settled after, in whole units so that sums are exact. Pure.

A limit binds what is spent and what is promised together: a request that could break it waits while others that are under way may give money back, and is
refused when nothing can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, TypeAlias

import attrs

from actors.gateway.interfaces import Caller
from stamina.config.model import Budget

UNIT: Final = 10**12
"""Units in a USD: a price of 0.01 USD for a million tokens is 10,000 of them a token."""

Account: TypeAlias = tuple[object, ...]


@attrs.define
class Balance:
    """What one account has spent and promised, in units, and what it may."""

    limit: int
    spent: int = 0
    promised: int = 0


class Answer(Enum):
    """Whether a sum can be reserved."""

    YES = 1
    LATER = 2
    NO = 3


@attrs.frozen
class Decision:
    """The answer, and for NO why: one clause that names the limit."""

    answer: Answer
    reason: str = ""


def usd(units: int) -> str:
    """For a person."""
    return f"${units / UNIT:,.4f}".rstrip("0").rstrip(".")


@attrs.define
class Ledger:
    """All accounts of a sweep: the sweep's own, and one for each scenario, turn and agent call that has a limit.

    Attributes:
        closed: why nothing new may begin, once a request was refused by the limit of the whole sweep.
    """

    budget: Budget
    closed: str | None = None
    _balances: dict[Account, Balance] = attrs.field(factory=dict)

    def ask(self, caller: Caller, amount: int) -> Decision:
        """Whether ``amount`` units may be reserved now; changes no balance."""
        answer = Answer.YES
        for name, balance in self._accounts(caller):
            if balance.spent + amount > balance.limit:
                reason = _reason(name, balance, amount)
                self.closed = self.closed or (reason if name == "sweep_usd" else None)
                return Decision(Answer.NO, reason)
            if balance.spent + balance.promised + amount > balance.limit:
                answer = Answer.LATER
        return Decision(answer)

    def reserve(self, caller: Caller, amount: int) -> None:
        """Promise it; only after the answer YES."""
        for _, balance in self._accounts(caller):
            balance.promised += amount

    def settle(self, caller: Caller, reserved: int, spent: int) -> None:
        """Take back the promise, and write down what was spent instead."""
        for _, balance in self._accounts(caller):
            balance.promised -= reserved
            balance.spent += spent

    def restore(self, caller: Caller, spent: int) -> None:
        """What an earlier run of this sweep has spent."""
        self.settle(caller, 0, spent)

    def spent(self) -> int:
        """By the sweep, in units; 0 when it has no limit."""
        return self._balances[("sweep",)].spent if ("sweep",) in self._balances else 0

    def _accounts(self, caller: Caller) -> Iterator[tuple[str, Balance]]:
        for name, (limit, account) in self._limits(caller).items():
            if limit is not None:
                yield name, self._balances.setdefault(account, Balance(round(limit * UNIT)))

    def _limits(self, caller: Caller) -> Mapping[str, tuple[float | None, Account]]:
        who, budget = caller.scenario, self.budget
        return {
            "sweep_usd": (budget.sweep_usd, ("sweep",)),
            "scenario_usd": (budget.scenario_usd, ("scenario", *who)),
            "turn_usd": (budget.turn_usd, ("turn", *who, caller.turn)),
            "call_usd": (budget.call_usd, ("call", *who, caller.turn, caller.attempt, caller.call)),
        }


def _reason(name: str, balance: Balance, amount: int) -> str:
    return f"[budget] {name} = {usd(balance.limit)}: {usd(balance.spent)} are spent, and the next request may cost {usd(amount)}"
