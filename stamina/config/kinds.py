"""What a key of the sweep file may hold. One declaration serves the loader (:meth:`Kind.read`) and the JSON Schema (:meth:`Kind.schema`)."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import attrs


class Unexpected(ValueError):
    """A value is not what its key may hold; the message is one sentence without place."""


@runtime_checkable
class Kind(Protocol):
    """A set of TOML values and how they are read."""

    def read(self, value: Any) -> Any:
        """The value as the program wants it. Raises :class:`Unexpected`."""
        ...

    def schema(self) -> dict[str, Any]:
        """The same set as JSON Schema (it may be larger, never smaller)."""
        ...


def shown(value: Any) -> str:
    """A TOML value as its author would recognise it, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value[:60]}…"' if len(value) > 60 else f'"{value}"'
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}"
    return str(value)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that was probably meant."""
    folded = {candidate.lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def suggestion(name: str, names: Sequence[str], what: str) -> str:
    """The end of a message about an unknown name: the nearest right one, else all of them."""
    near = nearest(name, names)
    if near is not None:
        return f'did you mean "{near}"?'
    return f"{what}: {', '.join(names)}" if names else f"there are no {what}"


def _refuse(expected: str, value: Any) -> Unexpected:
    return Unexpected(f"expected {expected}, got {shown(value)}")


@attrs.frozen
class Whole:
    """A whole number in [low, high]."""

    low: int | None = None
    high: int | None = None

    def read(self, value: Any) -> int:
        """See :class:`Kind`."""
        right_type = isinstance(value, int) and not isinstance(value, bool)
        if not right_type or (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise _refuse(f"a whole number{_range(self.low, self.high)}", value)
        return int(value)

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "integer"} | _given(minimum=self.low, maximum=self.high)


@attrs.frozen
class Number:
    """A finite number in [low, high], or above ``above``."""

    low: float | None = None
    high: float | None = None
    above: float | None = None

    def read(self, value: Any) -> float:
        """See :class:`Kind`."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not self._inside(value):
            raise _refuse(f"a number{_range(self.low, self.high, self.above)}", value)
        return float(value)

    def _inside(self, value: float) -> bool:
        above = self.above is None or value > self.above
        return above and (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "number"} | _given(minimum=self.low, maximum=self.high, exclusiveMinimum=self.above)


@attrs.frozen
class Text:
    """A string, where ``pattern`` is given one that matches it from end to end; ``words`` say what that is."""

    pattern: str | None = None
    words: str = "text"

    def read(self, value: Any) -> str:
        """See :class:`Kind`."""
        if not isinstance(value, str) or (self.pattern is not None and re.fullmatch(self.pattern, value) is None):
            raise _refuse(self.words, value)
        return value

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "string"} | ({} if self.pattern is None else {"pattern": f"^(?:{self.pattern})$"})


@attrs.frozen
class Flag:
    """``true`` or ``false``."""

    def read(self, value: Any) -> bool:
        """See :class:`Kind`."""
        if not isinstance(value, bool):
            raise _refuse("true or false", value)
        return value

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "boolean"}


@attrs.frozen
class Choice:
    """One of an enum's values, or one of the ``aliases`` (other word, value)."""

    options: type[StrEnum]
    aliases: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> list[str]:
        """All words that may be written."""
        return [option.value for option in self.options] + [alias for alias, _ in self.aliases]

    def read(self, value: Any) -> StrEnum:
        """See :class:`Kind`."""
        if not isinstance(value, str) or value not in self.words:
            near = nearest(value, self.words) if isinstance(value, str) else None
            hint = "" if near is None else f'; did you mean "{near}"?'
            raise Unexpected(f"expected {' or '.join(map(shown, self.words))}, got {shown(value)}{hint}")
        return self.options(dict(self.aliases).get(value, value))

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"enum": self.words}


@attrs.frozen
class AnyTable:
    """A table of anything: it is handed on as it is."""

    def read(self, value: Any) -> dict[str, Any]:
        """See :class:`Kind`."""
        if not isinstance(value, dict):
            raise _refuse("a table", value)
        return value

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "object"}


@attrs.frozen
class OneOrMore:
    """A word, or a list of different words; read as a tuple."""

    def read(self, value: Any) -> tuple[str, ...]:
        """See :class:`Kind`."""
        words = value if isinstance(value, list) else [value]
        if not words or not all(isinstance(word, str) and word for word in words):
            raise _refuse("a name or a list of names", value)
        if len(set(words)) < len(words):
            raise Unexpected("names one of them twice")
        return tuple(words)

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        word = {"type": "string", "minLength": 1}
        return {"anyOf": [word, {"type": "array", "items": word, "minItems": 1, "uniqueItems": True}]}


_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@attrs.frozen
class Memory:
    """A size such as ``"4GiB"``, read as bytes; at least 16 MiB, below which no agent starts."""

    def read(self, value: Any) -> int:
        """See :class:`Kind`."""
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([KMGT]iB)", value) if isinstance(value, str) else None
        size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
        if size < 16 * 2**20:
            raise _refuse('a size of at least 16 MiB, such as "512MiB" or "4GiB"', value)
        return size

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        return {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?[KMGT]iB$", "examples": ["512MiB", "4GiB"]}


MAX_SEEDS = 100_000
MAX_SEED = 2**53 - 1
"""JSON numbers beyond this are not exact everywhere."""


@attrs.frozen
class Seeds:
    """A seed, a list of seeds, or text such as ``"0-19"`` and ``"0,3,7-9"``; read as a tuple in the order written."""

    def read(self, value: Any) -> tuple[int, ...]:
        """See :class:`Kind`."""
        seeds = self._expand(value)
        if not seeds:
            raise Unexpected("names no seed; at least one is needed")
        in_order = sorted(seeds)
        twice = next((seed for seed, following in itertools.pairwise(in_order) if seed == following), None)
        if twice is not None:
            raise Unexpected(f"names seed {twice} twice")
        return tuple(seeds)

    def _expand(self, value: Any) -> list[int]:
        if isinstance(value, str):
            return self._of_text(value)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= MAX_SEED for part in parts):
            raise _refuse('seeds such as "0-19", "0,3,7-9" or [0, 1]', value)
        return list(parts)

    def _of_text(self, text: str) -> list[int]:
        """All that is wrong is said at once."""
        seeds: list[int] = []
        wrong: list[str] = []
        for part in text.split(",") if text.strip() else ():
            try:
                seeds += self._part(part.strip(), text)
            except Unexpected as error:
                wrong.append(str(error))
        if wrong:
            raise Unexpected("; ".join(dict.fromkeys(wrong)))
        return seeds

    def _part(self, part: str, whole: str) -> range:
        match = re.fullmatch(r"([0-9]{1,16})(?:\s*-\s*([0-9]{1,16}))?", part)
        if match is None:
            raise Unexpected(f'expected seeds such as "0-19", "0,3,7-9" or [0, 1], got {shown(whole)} ({shown(part)} is neither a number nor a range)')
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise Unexpected(f"has the range {part}, which runs backwards; write {last}-{first}")
        if last > MAX_SEED or last - first >= MAX_SEEDS:
            raise Unexpected(f"has the range {part}: seeds go up to {MAX_SEED}, and a range holds at most {MAX_SEEDS} of them")
        return range(first, last + 1)

    def schema(self) -> dict[str, Any]:
        """See :class:`Kind`."""
        seed = {"type": "integer", "minimum": 0, "maximum": MAX_SEED}
        text = {"type": "string", "pattern": r"^[0-9\s,-]+$", "examples": ["0-19", "0,3,7-9"]}
        return {"anyOf": [text, {"type": "array", "items": seed, "minItems": 1, "uniqueItems": True}, seed]}


def _given(**bounds: float | None) -> dict[str, Any]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _range(low: float | None, high: float | None, above: float | None = None) -> str:
    if above is not None:
        return f" above {above:g}" + ("" if high is None else f" and at most {high:g}")
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}".replace(",", "")
    if low is not None:
        return f" of at least {low:g}"
    return "" if high is None else f" of at most {high:g}"
