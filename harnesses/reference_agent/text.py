"""Lines with their place, and a cursor that reads one from left to right. What cannot be read is an error that names the line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


class Unreadable(Exception):
    """A text is not what its grammar says; the message names source, line, column and what was expected."""


@dataclass(frozen=True)
class Line:
    """One line of a text.

    Attributes:
        source: what it belongs to, such as ``initial_specification.md``.
        number: from 1.
        text: without its end.
    """

    source: str
    number: int
    text: str

    def without(self, prefix: str) -> Line:
        """The line behind a prefix, such as its indentation. Raises :class:`Unreadable` when it does not begin so."""
        if not self.text.startswith(prefix):
            raise self.wrong(f"a line that begins with {prefix!r}")
        return Line(self.source, self.number, self.text[len(prefix) :])

    def wrong(self, expected: str) -> Unreadable:
        """The error that says what was expected in this line."""
        return Unreadable(f"{self.source}:{self.number}: expected {expected}: {self.text!r}")


class Lines:
    """The lines of a text, read from the top."""

    def __init__(self, lines: list[Line], source: str) -> None:
        self._lines = lines
        self._source = source
        self._at = 0

    @classmethod
    def of(cls, text: str, source: str) -> Lines:
        """All lines of a text."""
        return cls([Line(source, number, line) for number, line in enumerate(text.split("\n"), 1)], source)

    def peek(self) -> Line | None:
        """The next line that is not empty, None at the end; empty lines before it are passed over."""
        while self._at < len(self._lines) and not self._lines[self._at].text.strip():
            self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else None

    def next(self, expected: str) -> Line:
        """The same, and move behind it. Raises :class:`Unreadable` at the end."""
        line = self.peek()
        if line is None:
            raise Unreadable(f"{self._source}: ends where {expected} was expected")
        self._at += 1
        return line

    def starting_with(self, *prefixes: str) -> list[Line]:
        """The next lines for as long as they begin with one of the prefixes."""
        found = []
        while (line := self.peek()) is not None and line.text.startswith(prefixes):
            found.append(line)
            self._at += 1
        return found

    def expect(self, text: str) -> Line:
        """The next line, which must be exactly this."""
        line = self.next(repr(text))
        if line.text != text:
            raise line.wrong(f"{text!r}")
        return line

    def end(self) -> None:
        """Nothing may be left."""
        line = self.peek()
        if line is not None:
            raise line.wrong("nothing more")


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"/[^\s,:()]*")
_LITERAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|true|false|null|\[\]")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DECODER = json.JSONDecoder()


class Cursor:
    """A place in a line. Methods that read move it; those that fail raise :class:`Unreadable`."""

    def __init__(self, line: Line, at: int = 0, stop: int | None = None) -> None:
        self.line = line
        self._at = at
        self._stop = len(line.text) if stop is None else stop

    def sees(self, text: str) -> bool:
        """Whether this comes next."""
        return self.line.text.startswith(text, self._at, self._stop)

    def take(self, text: str) -> bool:
        """Move behind the text if it comes next, and say whether it did."""
        found = self.sees(text)
        if found:
            self._at += len(text)
        return found

    def expect(self, text: str) -> None:
        """Move behind a text that must come next."""
        if not self.take(text):
            raise self.wrong(f"{text!r}")

    def one_of(self, *texts: str) -> str:
        """Move behind the first of these that comes next, and say which."""
        for text in texts:
            if self.take(text):
                return text
        raise self.wrong(" or ".join(map(repr, texts)))

    def word(self) -> str:
        """A bare name."""
        return self._match(_WORD, "a name")

    def path(self) -> str:
        """A path of URLs, up to a space, comma, colon or parenthesis."""
        return self._match(_PATH, "a path")

    def number(self) -> int | float:
        """A number as JSON writes it, without an exponent."""
        value: int | float = json.loads(self._match(_NUMBER, "a number"))
        return value

    def quoted(self) -> str:
        """A string in double quotes, escaped as in JSON."""
        if not self.sees('"'):
            raise self.wrong("a string in double quotes")
        try:
            value, end = _DECODER.raw_decode(self.line.text[: self._stop], self._at)
        except ValueError:
            raise self.wrong("a string in double quotes, escaped as in JSON") from None
        self._at = end
        return str(value)

    def strings(self) -> list[str]:
        """One or more quoted strings with commas between them."""
        found = [self.quoted()]
        while self.sees(', "'):
            self.expect(", ")
            found.append(self.quoted())
        return found

    def literal(self) -> Any:
        """A value as JSON writes it: a number, a boolean, null, a string or ``[]``."""
        return self.quoted() if self.sees('"') else json.loads(self._match(_LITERAL, "a literal"))

    def expression(self) -> Cursor:
        """What stands between the backtick that comes next and the last one of the line; this cursor moves behind that."""
        self.expect("`")
        end = self.line.text.rfind("`", self._at, self._stop)
        if end < 0:
            raise self.wrong("an expression that ends in a backtick")
        inner = Cursor(self.line, self._at, end)
        self._at = end + 1
        return inner

    def rest(self) -> str:
        """All that is left."""
        found = self.line.text[self._at : self._stop]
        self._at = self._stop
        return found

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != self._stop:
            raise self.wrong("the end")

    def wrong(self, expected: str) -> Unreadable:
        """The error that says what was expected here."""
        return self.line.wrong(f"{expected} at column {self._at + 1}")

    def _match(self, pattern: re.Pattern[str], expected: str) -> str:
        match = pattern.match(self.line.text, self._at, self._stop)
        if match is None:
            raise self.wrong(expected)
        self._at = match.end()
        return match[0]
