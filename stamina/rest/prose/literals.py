"""Values as text: one spelling each, so that a reader gets back exactly the value that was written (``docs/language.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

from stamina.rest.expressions import LiteralValue


def literal(value: LiteralValue) -> str:
    """A value as the text shows it: JSON, except that a float never has an exponent and always has a decimal point."""
    if isinstance(value, float):
        return _float(value)
    if value == ():
        return "[]"
    return json.dumps(value)


def quoted(name: str) -> str:
    """A name or a string in double quotes, escaped as in JSON."""
    return json.dumps(name)


def listed(names: Iterable[str]) -> str:
    """Quoted strings with commas between them, in the order given."""
    return ", ".join(quoted(name) for name in names)


def _float(value: float) -> str:
    # repr is the shortest text that reads back as the same double; Decimal spells it without an exponent.
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"
