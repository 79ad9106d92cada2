"""What a step of the suite expects, as values that judge an answer (contract H1-H3, H6, H8, A2, A3).

Every expectation is frozen and pure; its ``judge`` returns None when the answer is right, else one line of bounded length that says what was expected and
what came. The server is hostile: an answer may be of any type, any size and any depth, and judging it never raises.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Final

import attrs

from stamina.exchange import NOT_JSON, Answer, Json, NoResponse, Request, Response

OK: Final = (200,)
CREATED: Final = (200, 201)
DELETED: Final = (200, 204)
RESET: Final = (200, 204)
REFUSED: Final = (400, 422)
TAKEN: Final = (400, 409, 422)
MISSING: Final = (404,)
GONE_ACTION: Final = (404, 405)
WRONG_STATE: Final = (400, 409)
UNMET: Final = (409,)

SHOWN: Final = 120
"""About how many characters of a value a message shows."""
_DEPTH: Final = 3
_TOLERANCE: Final = Fraction(1, 10**9)


@attrs.frozen
class Status:
    """The status is one of these; the body does not matter. ``why`` is the reason, such as ``"age must not be null"``."""

    statuses: tuple[int, ...]
    why: str = ""

    def judge(self, request: Request, answer: Answer) -> str | None:
        """See :class:`stamina.suite.Expectation`."""
        return _status_problem(self.statuses, answer, self.why)


@attrs.frozen
class Stored:
    """One stored object comes back (H1, H8).

    Attributes:
        statuses: those allowed.
        expected: every declared field and ``id``; null for an absent value, a list of ids for a reference list.
        forbidden: keys of removed or renamed fields, which must not appear, not even as null (H6).
        why: what the object shows, such as ``"the refused request changed nothing"``.
    """

    statuses: tuple[int, ...]
    expected: dict[str, Json]
    forbidden: tuple[str, ...] = ()
    why: str = ""

    def judge(self, request: Request, answer: Answer) -> str | None:
        """See :class:`stamina.suite.Expectation`."""
        wrong = _status_problem(self.statuses, answer, self.why)
        if wrong is None and isinstance(answer, Response):
            wrong = _object_problem(self.expected, answer.json, self.forbidden)
            if wrong is not None:
                wrong += _because(self.why)
        return wrong


@attrs.frozen
class Listed:
    """A 200 with a JSON array of exactly these objects, in any order; see :class:`Stored` for the attributes."""

    expected: tuple[dict[str, Json], ...]
    forbidden: tuple[str, ...] = ()
    why: str = ""

    def judge(self, request: Request, answer: Answer) -> str | None:
        """See :class:`stamina.suite.Expectation`."""
        wrong = _status_problem(OK, answer, self.why)
        if wrong is None and isinstance(answer, Response):
            wrong = self._list_problem(answer.json)
            if wrong is not None:
                wrong += _because(self.why)
        return wrong

    def _list_problem(self, got: Json) -> str | None:
        if not isinstance(got, list):
            return f"expected a JSON array, got {shown(got)}"
        if len(got) != len(self.expected):
            return f"expected {_count(len(self.expected))}, got {len(got)}: {shown(got)}"
        by_id = {item["id"]: item for item in got if isinstance(item, dict) and isinstance(item.get("id"), str)}
        for expected in self.expected:
            if expected["id"] not in by_id:
                return f"expected an object with id {shown(expected['id'])} in the list, got {shown(got)}"
            wrong = _object_problem(expected, by_id[expected["id"]], self.forbidden)
            if wrong is not None:
                return f"object {shown(expected['id'])} of the list: {wrong}"
        return None


@attrs.frozen
class Result:
    """A 200 with ``{"result": value}``: null for None, else within 1e-9 relative of the exact number (A2, A3)."""

    expected: Fraction | None
    why: str = ""

    def judge(self, request: Request, answer: Answer) -> str | None:
        """See :class:`stamina.suite.Expectation`."""
        wrong = _status_problem(OK, answer, self.why)
        if wrong is None and isinstance(answer, Response):
            got = answer.json
            if not isinstance(got, dict) or "result" not in got:
                return f'expected {{"result": {self._text()}}}, got {shown(got)}{_because(self.why)}'
            if not self._matches(got["result"]):
                return f"expected result {self._text()}, got {shown(got['result'])}{_because(self.why)}"
        return wrong

    def _matches(self, got: Json) -> bool:
        if self.expected is None:
            return got is None
        if type(got) is float and not math.isfinite(got):
            return False
        return type(got) in (int, float) and abs(Fraction(got) - self.expected) <= _TOLERANCE * max(Fraction(1), abs(self.expected))

    def _text(self) -> str:
        if self.expected is None:
            return "null"
        return str(self.expected.numerator) if self.expected.denominator == 1 else repr(float(self.expected))


def same(expected: Json, got: Json) -> bool:
    """Equality of one field's value by H8: booleans strict, numbers by value, strings verbatim, reference lists regardless of order."""
    if type(expected) in (int, float):
        return type(got) in (int, float) and got == expected
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(isinstance(item, str) for item in got) and sorted(got) == sorted(expected)
    return type(got) is type(expected) and got == expected


def shown(value: Json, budget: int = SHOWN) -> str:
    """A value as JSON on one line, cut to about ``budget`` characters and a few levels, whatever its size and depth."""
    pieces: list[str] = []
    _show(value, budget, _DEPTH, pieces)
    return "".join(pieces)


def _show(value: Json, budget: int, depth: int, pieces: list[str]) -> int:
    if isinstance(value, list | dict):
        return _show_container(value, budget, depth, pieces)
    text = "a body that is not JSON" if value is NOT_JSON else json.dumps(value[:budget] if isinstance(value, str) else value)
    text = text if len(text) <= budget + 2 and not (isinstance(value, str) and len(value) > budget) else text[:budget] + "…"
    pieces.append(text)
    return budget - len(text)


def _show_container(value: Json, budget: int, depth: int, pieces: list[str]) -> int:
    opening, closing = "[]" if isinstance(value, list) else "{}"
    pieces.append(opening)
    for number, key in enumerate(value):
        if number:
            pieces.append(", ")
        if budget <= 0 or depth == 0:
            pieces.append("…")
            break
        if isinstance(value, dict):
            budget = _show(key, budget, depth, pieces)
            pieces.append(": ")
        budget = _show(value[key] if isinstance(value, dict) else key, max(budget, 1), depth - 1, pieces)
    pieces.append(closing)
    return budget


def _status_problem(statuses: tuple[int, ...], answer: Answer, why: str) -> str | None:
    if isinstance(answer, NoResponse):
        return f"expected status {_either(statuses)}, got no response ({answer.trouble.value}: {answer.detail[:SHOWN]}){_because(why)}"
    if answer.status in statuses:
        return None
    return f"expected status {_either(statuses)}, got {answer.status}{_because(why)}"


def _object_problem(expected: dict[str, Json], got: Json, forbidden: tuple[str, ...]) -> str | None:
    if not isinstance(got, dict):
        return f"expected a JSON object, got {shown(got)}"
    for key, value in expected.items():
        if not same(value, got.get(key)):
            came = shown(got[key]) if key in got else "no such key"
            return f"expected {key} = {shown(value)}, got {came}"
    for key in forbidden:
        if key in got:
            return f"expected no key {key}, which was removed or renamed, got {key} = {shown(got[key])}"
    return None


def _because(why: str) -> str:
    return f" ({why})" if why else ""


def _either(statuses: tuple[int, ...]) -> str:
    return " or ".join(map(str, statuses))


def _count(number: int) -> str:
    return "an empty list" if number == 0 else "1 object" if number == 1 else f"{number} objects"
