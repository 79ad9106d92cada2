"""What the mock agent is told to do badly in one call. The adapter draws it; here it is only obeyed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

VARIABLE = "REFERENCE_AGENT_ORDERS"
"""Holds a JSON list of orders. The agent obeys the one that its session id leads to: the adapter cannot know the scenario before the session has begun."""


@dataclass(frozen=True)
class Orders:
    """One call's orders.

    Attributes:
        mistakes: kinds to make one of, the first that is possible; empty for none.
        pick: from 0 up, decides what the mistake is about.
        fix: repair all mistakes, if this call brings feedback.
        idle: say that all is done and do nothing.
        failure: ``""``, ``crash``, ``hang``, ``kill``, ``exit`` or ``silent``.
        status: the exit code for ``exit``.
    """

    mistakes: list[str] = field(default_factory=list)
    pick: int = 0
    fix: bool = True
    idle: bool = False
    failure: str = ""
    status: int = 0


def orders_for(session: str) -> Orders:
    """The orders for this session. Without any, the agent does its best."""
    alternatives: list[dict[str, Any]] = json.loads(os.environ.get(VARIABLE, "[{}]"))
    return Orders(**alternatives[int(session[:8], 16) % len(alternatives)])
