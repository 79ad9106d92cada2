"""Right answers of a suite, recorded from the ground truth, for servers that only have to say them again. Standard library only: the peers' Python has no more.

A recording is a JSON file: one list for each ``POST /reset`` of the suite, in order, with the answers to it and to all that follow until the next reset, each
as ``[status, body]``. A server counts resets and the requests since; after the last reset it begins anew, so that the suite can be played again and again.
"""

from __future__ import annotations

import json
from pathlib import Path

Answer = tuple[int, str]
"""Status and body."""


class Replay:
    """Where one player of the suite stands."""

    def __init__(self, file: str | Path) -> None:
        self._rounds: list[list[Answer]] = [[(status, body) for status, body in round_] for round_ in json.loads(Path(file).read_text())]
        self._round = -1
        self._next = 0

    def answer(self, path: str) -> Answer:
        """What the next request gets; a status of 500 when the suite has no such request."""
        if path == "/reset":
            self._round, self._next = (self._round + 1) % len(self._rounds), 0
        answers = self._rounds[self._round]
        self._next += 1
        return answers[self._next - 1] if self._next <= len(answers) else (500, "")
