"""Conditions and effects of actions, as values (contract B2, B3).

Evaluation lives in :mod:`stamina.rest.semantics`, text in :mod:`stamina.rest.prose`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

Scalar: TypeAlias = str | int | float | bool
"""A non-null JSON scalar as a test body carries it. A datetime is its fixed-width string."""

LiteralValue: TypeAlias = Scalar | tuple[()] | None
"""A literal in an effect: a scalar, null, or the empty list (clearing a reference list)."""


class Subject(StrEnum):
    """Whose field an operand reads."""

    THIS = "this"
    """The acting object."""
    OTHER = "other"
    """Inside an effect: the referenced object, or the current object of a for-each. Inside ``any``/``all``: the current item."""


@attrs.frozen
class FieldRef:
    """A field as an operand, such as ``this.total``."""

    field: str
    subject: Subject = Subject.THIS


@attrs.frozen
class Literal:
    """A constant operand of a comparison; its JSON type is that of the field it is compared with."""

    value: Scalar


class ArithmeticOperator(StrEnum):
    """The three operations on numbers."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


@attrs.frozen
class Arithmetic:
    """``left op right`` over two numeric fields; null when an operand is null."""

    left: FieldRef
    operator: ArithmeticOperator
    right: FieldRef


@attrs.frozen
class Count:
    """``count(list_field)``: how many ids the acting object's reference list holds."""

    list_field: str


@attrs.frozen
class Sum:
    """``sum(list_field.field)``: over the referenced objects, nulls skipped; 0 for an empty list."""

    list_field: str
    field: str


class Comparator(StrEnum):
    """The six comparisons. With a null operand each of them is false, ``!=`` included."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def opposite(self) -> Comparator:
        """The comparison that holds where this one does not, nulls aside."""
        return _OPPOSITE[self]


_OPPOSITE: Final = {
    Comparator.EQ: Comparator.NE,
    Comparator.NE: Comparator.EQ,
    Comparator.LT: Comparator.GE,
    Comparator.LE: Comparator.GT,
    Comparator.GT: Comparator.LE,
    Comparator.GE: Comparator.LT,
}


Operand: TypeAlias = FieldRef | Arithmetic | Count | Sum


@attrs.frozen
class Comparison:
    """``left op right``. Count and Sum are compared with a literal only; order comparisons are for numbers, datetimes."""

    left: Operand
    comparator: Comparator
    right: FieldRef | Literal


@attrs.frozen
class NullCheck:
    """``field is null`` or ``field is not null``; any nullable or non-required non-list field."""

    operand: FieldRef
    is_null: bool


class Quantifier(StrEnum):
    """How many items of a list must satisfy a sub-condition. Over an empty list ANY is false, ALL is true."""

    ANY = "any"
    ALL = "all"


@attrs.frozen
class Quantified:
    """``any``/``all`` item in ``list_field`` satisfies ``condition``, whose operands have the subject OTHER."""

    quantifier: Quantifier
    list_field: str
    condition: Comparison | NullCheck


Condition: TypeAlias = Comparison | NullCheck | Quantified


@attrs.frozen
class SetTo:
    """Set the target to a literal: null where nullable, ``()`` for a reference list."""

    value: LiteralValue


@attrs.frozen
class IncrementBy:
    """Add a literal (negative too) to a numeric target; a null target stays null. An integer target takes an int."""

    amount: int | float


@attrs.frozen
class Compute:
    """Set a numeric target to an arithmetic result; with a null operand the target is left as it is.

    Operands with subject OTHER read the object being written, those with THIS the acting object.
    """

    value: Arithmetic


Assignment: TypeAlias = SetTo | IncrementBy | Compute


@attrs.frozen
class OnThis:
    """The effect writes the acting object."""


@attrs.frozen
class OnReference:
    """The effect writes the object that the acting object's single reference names; skipped when it is null."""

    field: str


@attrs.frozen
class OnEach:
    """The effect writes each object in the acting object's reference list."""

    field: str


Scope: TypeAlias = OnThis | OnReference | OnEach


@attrs.frozen
class Effect:
    """``scope``'s object(s): ``target`` := ``assignment``. Effects run in order, each seeing what those before it did."""

    target: str
    assignment: Assignment
    scope: Scope = OnThis()
