"""Whether the conversation that comes back is the one that was had: every answer carries a mark, and the marks are looked for."""

from __future__ import annotations

import hashlib
import re
from typing import Final

import attrs

from harnesses.scripted_model.conversation import Conversation

_MARK: Final = re.compile(r"\[ref ([0-9a-f]{8})-(\d+)\]")


@attrs.frozen
class Kept:
    """What became of the marks.

    Attributes:
        broken: marks were given, and none came back: the session is lost.
        missing: marks that did not come back, though others did, and no summary explains it.
        foreign: marks of other scenarios.
    """

    broken: bool = False
    missing: int = 0
    foreign: int = 0

    @property
    def whole(self) -> bool:
        """Nothing is wrong."""
        return self == Kept()


@attrs.define
class Continuity:
    """The marks of one scenario. What was missing once is not expected again."""

    nonce: str
    number: int = 0
    _given: set[int] = attrs.field(factory=set)
    _begun: bool = False

    @classmethod
    def of(cls, *names: str | int) -> Continuity:
        """For a scenario of these names."""
        return cls(hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()[:8])

    def next(self) -> tuple[int, str]:
        """The number of a new answer, and its mark."""
        self.number += 1
        return self.number, f"[ref {self.nonce}-{self.number}]"

    def begin(self) -> None:
        """A new session begins, rightly."""
        self._given.clear()
        self._begun = False

    def delivered(self, number: int, *, summary: bool) -> None:
        """An answer arrived. A summary stands for all before it."""
        if summary:
            self._given.clear()
        else:
            self._given.add(number)
        self._begun = True

    def check(self, conversation: Conversation) -> Kept:
        """What is missing in a conversation that is to be gone on with."""
        found = [(nonce, int(number)) for turn in conversation.turns for nonce, number in _MARK.findall(turn.text)]
        seen = {number for nonce, number in found if nonce == self.nonce}
        foreign = sum(nonce != self.nonce for nonce, _ in found)
        missing = self._given - seen
        self._given &= seen
        if self._begun and not seen:
            self._begun = False
            return Kept(broken=True, foreign=foreign)
        return Kept(missing=len(missing), foreign=foreign)
