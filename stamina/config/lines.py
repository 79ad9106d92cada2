"""Where in a TOML text each key stands. tomli gives values without lines, and an error without a line is half an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import tomli

KeyPath: TypeAlias = tuple[str | int, ...]
"""The way to a value: ``("agent", 0, "model")`` is ``model`` of the first ``[[agent]]``."""

_BLANK = " \t\r\n"
_VALUE_ENDS = ",]}\n#"


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """The line (from 1) of every table, key and array element of a TOML text that tomli accepts."""
    return _Scanner(text).scan()


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """The line of ``path``, or of the nearest thing around it; None when not even its table is in the text."""
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


class _Scanner:
    """Walks a text that is known to be valid TOML, so it need not refuse anything."""

    def __init__(self, text: str) -> None:
        self._text = text + "\n"
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._arrays: dict[KeyPath, int] = {}

    def scan(self) -> Mapping[KeyPath, int]:
        table: KeyPath = ()
        self._skip_blank()
        while self._at < len(self._text):
            if self._peek() == "[":
                table = self._header()
            else:
                self._assignment(table)
            self._skip_blank()
        return self._lines

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _note(self, path: KeyPath) -> None:
        self._lines.setdefault(path, self._text.count("\n", 0, self._at) + 1)

    def _skip_blank(self) -> None:
        """Past white space, line ends and comments."""
        while self._at < len(self._text):
            if self._peek() == "#":
                self._at = self._text.index("\n", self._at)
            elif self._peek() in _BLANK:
                self._at += 1
            else:
                return

    def _header(self) -> KeyPath:
        """``[a.b]`` or ``[[a.b]]``."""
        brackets = 2 if self._peek(2) == "[[" else 1
        start = self._at
        self._at += brackets
        names = self._key("]")
        end = self._at + brackets
        self._at = start
        path: KeyPath = ()
        for position, name in enumerate(names, start=1):
            path = (*path, name)
            self._note(path)
            if brackets == 2 and position == len(names):
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path])
                self._note(path)
        self._at = end
        return path

    def _assignment(self, table: KeyPath) -> None:
        """``a.b = value``."""
        start = self._at
        names = self._key("=")
        end = self._at + 1
        self._at = start
        path = table
        for name in names:
            path = (*path, name)
            self._note(path)
        self._at = end
        self._value(path)

    def _key(self, until: str) -> tuple[str, ...]:
        """The dotted key up to ``until``, where the scanner then stands."""
        names = []
        while self._peek() != until:
            if self._peek() in "\"'":
                start = self._at
                self._skip_string()
                names.append(tomli.loads(f"k = {self._text[start : self._at]}")["k"])
            elif self._peek() in " \t.":
                self._at += 1
            else:
                start = self._at
                while self._peek() not in f" \t.{until}":
                    self._at += 1
                names.append(self._text[start : self._at])
        return tuple(names)

    def _value(self, path: KeyPath) -> None:
        self._skip_blank()
        if self._peek() in "\"'":
            self._skip_string()
        elif self._peek() == "[":
            self._array(path)
        elif self._peek() == "{":
            self._inline_table(path)
        else:
            while self._peek() not in _VALUE_ENDS:
                self._at += 1

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._more("]"):
            self._note((*path, index))
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._more("}"):
            self._assignment(path)

    def _more(self, closing: str) -> bool:
        """Whether another element follows; goes past commas, and past the closing bracket when none does."""
        self._skip_blank()
        while self._peek() == ",":
            self._at += 1
            self._skip_blank()
        if self._peek() == closing:
            self._at += 1
            return False
        return True

    def _skip_string(self) -> None:
        quote = self._peek()
        mark = quote * 3 if self._peek(3) == quote * 3 else quote
        self._at += len(mark)
        while self._peek(len(mark)) != mark:
            self._at += 2 if quote == '"' and self._peek() == "\\" else 1
        self._at += len(mark)
        # A multi-line string may end in one or two quotes of its own before the closing three.
        while len(mark) == 3 and self._peek() == quote:
            self._at += 1
