"""A scenario's place at the gateway, as the scenario sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeAlias

import attrs

from actors.agent import ModelSeen
from actors.gateway.seats import Seat
from harnesses.harness import ModelAccess
from scenario_store.folder import ScenarioFolder
from stamina.config.model import Work

SILENCE: Final = 60.0
"""Seconds without a byte after which a call that runs out of time was cut off by its model's silence."""


@attrs.frozen
class Seated:
    """A scenario at the gateway: its seat, and how its agent reaches it."""

    seat: Seat
    access: ModelAccess

    def seen(self) -> ModelSeen:
        """What became of the requests of the present call."""
        return ModelSeen(self.seat.served, self.seat.trouble, self.seat.silence(SILENCE))


Seating: TypeAlias = Callable[[Work, ScenarioFolder], AbstractContextManager[Seated | None]]
"""Seats a scenario for the length of a block; None for a harness without a model."""


@contextmanager
def unseated(work: Work, folder: ScenarioFolder) -> Iterator[Seated | None]:
    """Where there is no gateway."""
    yield None
