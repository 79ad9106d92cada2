"""What the rules of the contract are about, for tables that name them by number. Their wording is that of the instructions (:mod:`stamina.rest.prose`)."""

from __future__ import annotations

from typing import Final

ABOUT: Final = {
    "S3": "fields: required, nullable, defaults, bounds, the id",
    "S7": "references to one's own type",
    "S8": "ids, and their use after a deletion",
    "S9": "an enum type belongs to one field",
    "H1": "create, list, read, update, delete",
    "H2": "bad input is refused and changes nothing",
    "H3": "an id that is taken",
    "H4": "an id in a PATCH",
    "H5": "reset",
    "H6": "old paths and keys are gone",
    "H8": "when two values are equal",
    "H9": "requests, bodies, time to answer",
    "V1": "types, without conversion",
    "V2": "datetimes",
    "V3": "what is omitted, defaults, null",
    "V4": "bounds, enum values, references that exist",
    "V5": "references are ids",
    "V7": "PATCH",
    "D1": "an object is deleted: references to it",
    "D2": "an entity or field is deleted: what goes with it",
    "D3": "renames",
    "D4": "several changes in one request",
    "D5": "changed bounds",
    "D6": "added and removed conditions and effects",
    "A1": "analytics: paths and results",
    "A2": "analytics over nulls and over nothing",
    "A3": "analytics without rounding",
    "B1": "actions: answers and their order",
    "B2": "conditions",
    "B3": "effects",
}
"""In the order of the contract."""


def place(rule: str) -> int:
    """For sorting."""
    return list(ABOUT).index(rule)
