"""Cuts the body of a model request into parts that come again: the elements of its arrays (messages, items, contents, tools), and its long members.

A conversation is sent whole with every request, so a recording that keeps each part once grows with what is new. The parts of a body, put together, are the
body, character for character; the comma between two elements goes with the second.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final

import attrs

LONG: Final = 256
"""Characters from which on a member is a part, or an array is cut."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = JSONDecoder()


@attrs.frozen
class Cut:
    """A body that was cut.

    Attributes:
        text: the whole.
        ends: where its parts end.
        elements: of those, after which an array may go on: cutting can be taken up there.
    """

    text: str = attrs.field(repr=False)
    ends: list[int]
    elements: list[int]

    def parts(self, first: int = 0) -> list[str]:
        """The parts from one on; none is empty."""
        starts = (self.ends[first - 1] if first else 0, *self.ends[first:-1])
        return [self.text[start:end] for start, end in zip(starts, self.ends[first:], strict=True)]

    def shared(self, text: str) -> int:
        """Up to where another body begins with the same parts, as far as an element of an array; 0 for not at all."""
        low, high = 0, bisect_right(self.elements, len(text))
        while low < high:
            middle = (low + high + 1) // 2
            if text.startswith(self.text[: self.elements[middle - 1]]):
                low = middle
            else:
                high = middle - 1
        return self.elements[low - 1] if low else 0


def cut(text: str, before: Cut | None = None, shared: int = 0) -> Cut:
    """Cut a body; what is no JSON object is one part.

    Args:
        before: one that was cut, with which this one shares the first characters (:meth:`Cut.shared`); they are not looked at again.
    """
    scan = _Scan(text)
    try:
        if before is None or not shared:
            scan.members(0)
        else:
            scan.go_on(before, shared)
    except (ValueError, IndexError, RecursionError):
        return cut(text) if before is not None else Cut(text, [len(text)] if text else [], [])
    scan.end(len(text))
    return Cut(text, scan.ends, scan.elements)


class _Scan:
    """Walks over the members of an object. Raises ValueError or IndexError where it is no JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.ends: list[int] = []
        self.elements: list[int] = []

    def end(self, at: int) -> None:
        """A part ends here, unless there is nothing in it."""
        if at > (self.ends[-1] if self.ends else 0):
            self.ends.append(at)

    def go_on(self, before: Cut, at: int) -> None:
        """From behind an element that is known."""
        self.ends = before.ends[: bisect_right(before.ends, at)]
        self.elements = before.elements[: bisect_right(before.elements, at)]
        self.members(self._elements(self._comma(at)) + 1)

    def members(self, at: int) -> None:
        """From the opening brace, or from behind a member, to the closing one."""
        text = self._text
        at = self._skip(at)
        if text[at] not in ("{,}" if at else "{"):
            raise ValueError(f"expected a member at {at}")
        while text[at] != "}":
            at = self._skip(at + 1)
            if text[at] == "}":
                return
            at = self._skip(scanstring(text, at + 1, True)[1])  # noqa: FBT003 (the standard library's signature)
            at = self._skip(self._value(self._skip(at + 1)))

    def _value(self, at: int) -> int:
        """One member's value; where it ends."""
        if self._text[at] == "[":
            return self._array(at)
        _, end = _DECODER.raw_decode(self._text, at)
        if end - at >= LONG:
            self.end(at)
            self.end(end)
        return end

    def _array(self, at: int) -> int:
        """An array; a short one is not cut."""
        ends, elements = len(self.ends), len(self.elements)
        self.end(at + 1)
        here = self._elements(self._skip(at + 1))
        if here - at < LONG:
            del self.ends[ends:], self.elements[elements:]
        return here + 1

    def _elements(self, here: int) -> int:
        """From an element, or a comma, to the closing bracket."""
        text = self._text
        while text[here] != "]":
            _, here = _DECODER.raw_decode(text, self._skip(here + 1) if text[here] == "," else here)
            self.ends.append(here)
            self.elements.append(here)
            here = self._comma(here)
        return here

    def _comma(self, at: int) -> int:
        """At what follows an element."""
        at = self._skip(at)
        if self._text[at] not in ",]":
            raise ValueError(f"expected a comma at {at}")
        return at

    def _skip(self, at: int) -> int:
        """Behind white space."""
        if self._text[at] not in " \t\r\n":
            return at
        match = _SPACE.match(self._text, at)
        assert match is not None
        return match.end()
