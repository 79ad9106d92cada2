"""The one source of chance.

A :class:`Draw` is a stream of choices that belongs to a named place. ``Draw(7).at("turn", 3)`` is independent of ``Draw(7).at("turn", 4)``: one more
choice in one place changes nothing in another. Everything is made of :meth:`random.Random.random`, the only method whose sequence Python promises to keep,
and nothing without an order can be drawn from.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
Place = str | int


class Draw:
    """A stream of choices for one named place, the same on every platform and Python.

    Args:
        seed: the scenario's seed; a string allows a salt.
        place: the names that lead to this stream.
    """

    def __init__(self, seed: str | int, *place: Place) -> None:
        self._names = (seed, *place)
        # The length and type prefix keep ("a", "b") and ("ab",), 1 and "1" apart.
        text = "".join(f"{type(name).__name__}{len(str(name))}:{name}" for name in self._names)
        self._random = random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))  # noqa: S311

    def at(self, *place: Place) -> Draw:
        """A fresh stream for a place below this one; drawing from it does not move this one."""
        return Draw(*self._names, *place)

    def unit(self) -> float:
        """A float in [0, 1)."""
        return self._random.random()

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.unit() < probability

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], both inclusive. Raises ValueError on an empty range."""
        if high < low:
            raise ValueError(f"nothing to draw between {low} and {high}")
        return low + min(int(self.unit() * (high - low + 1)), high - low)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options. Raises ValueError when there are none."""
        if not options:
            raise ValueError("nothing to pick from")
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """One of the options, each as likely as its weight says. Raises ValueError when no weight is positive."""
        total = sum(weights)
        if not options or len(options) != len(weights) or total <= 0:
            raise ValueError("weighted needs as many weights as options, and a positive one among them")
        point = self.unit() * total
        last = options[0]
        for option, weight in zip(options, weights, strict=True):
            if weight > 0:
                last = option
                point -= weight
                if point < 0:
                    break
        return last

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All of the options in random order."""
        result = list(options)
        for i in range(len(result) - 1, 0, -1):
            j = self.integer(0, i)
            result[i], result[j] = result[j], result[i]
        return result

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """``count`` different positions of the options, in random order. Raises ValueError when there are fewer."""
        if count > len(options):
            raise ValueError(f"cannot take {count} of {len(options)}")
        return self.shuffled(options)[:count]
