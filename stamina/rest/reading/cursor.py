"""Moving through one line of text."""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from stamina.errors import InputError
from stamina.rest.expressions import LiteralValue

_DECODER: Final = json.JSONDecoder()
_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Cursor:
    """A place in a line. Every method that does not find what it needs raises :class:`InputError`, which shows the line and the place."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def take(self, text: str) -> bool:
        """Move past the text when it is what comes next; whether it is."""
        found = self._line.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def expect(self, text: str) -> None:
        """Move past the text."""
        if not self.take(text):
            self.wrong(repr(text))

    def pick(self, *texts: str) -> str:
        """Move past one of the texts, the first that fits; which."""
        found = next((text for text in texts if self.take(text)), None)
        return self.wrong(" or ".join(map(repr, texts))) if found is None else found

    def quoted(self) -> str:
        """A name or string in double quotes."""
        value = self._json('"', "a quoted name")
        assert isinstance(value, str)
        return value

    def strings(self) -> tuple[str, ...]:
        """Quoted strings with commas between them."""
        values = [self.quoted()]
        while self._line.startswith(', "', self._at):
            self.expect(", ")
            values.append(self.quoted())
        return tuple(values)

    def literal(self) -> LiteralValue:
        """A scalar, null, or the empty list. A float has a decimal point, an integer has none."""
        value = self._json("", "a literal")
        return () if value == [] else value  # type: ignore[return-value]

    def word(self) -> str:
        """A bare name."""
        match = _WORD.match(self._line, self._at)
        if match is None:
            self.wrong("a name")
        self._at = match.end()
        return match.group()

    def rest(self) -> str:
        """All that is left."""
        text, self._at = self._line[self._at :], len(self._line)
        return text

    def backticked(self) -> str:
        """An expression: up to the last backtick of the line, for a string in it may contain some."""
        self.expect("`")
        end = self._line.rfind("`")
        text, self._at = self._line[self._at : end], end + 1
        return text

    def end(self) -> None:
        """Nothing is left."""
        if self._at != len(self._line):
            self.wrong("the end of the line")

    def wrong(self, expected: str) -> NoReturn:
        """Raise the error that says what should stand here."""
        raise InputError(f"expected {expected} at column {self._at + 1} of: {self._line}")

    def _json(self, start: str, expected: str) -> object:
        if not self._line.startswith(start, self._at):
            self.wrong(expected)
        try:
            value, self._at = _DECODER.raw_decode(self._line, self._at)
        except ValueError:
            self.wrong(expected)
        return value
