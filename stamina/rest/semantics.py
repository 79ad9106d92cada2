"""What conditions and effects mean (contract B1-B3).

An object is a plain dict of its entity's fields and ``id``: every declared field is present, null where it has no value, and lists are always lists.
The functions here read and write a store of such objects. A reference that leads back to the acting object finds the very same dict, so writes through
one name are seen through the other (B3).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Assignment,
    Comparator,
    Comparison,
    Compute,
    Condition,
    Count,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    OnThis,
    Operand,
    Quantified,
    Quantifier,
    Scope,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.schema import Action, Entity, ReferenceListType, ReferenceType
from stamina.rest.values import LARGEST

Object: TypeAlias = dict[str, Json]
"""One stored object: its fields and ``id``."""

Store: TypeAlias = dict[str, dict[str, Object]]
"""Entity name to id to object."""

Number: TypeAlias = int | float

_ARITHMETIC: Final[dict[ArithmeticOperator, Callable[[Number, Number], Number]]] = {
    ArithmeticOperator.ADD: operator.add,
    ArithmeticOperator.SUBTRACT: operator.sub,
    ArithmeticOperator.MULTIPLY: operator.mul,
}

_COMPARE: Final[dict[Comparator, Callable[[Json, Json], bool]]] = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}


class Refusal(Enum):
    """Why an action is refused on an existing object; in the order of the text, the first that applies is the answer (B1)."""

    WRONG_STATE = "wrong state"
    UNMET_CONDITION = "unmet condition"


@lru_cache(maxsize=4096)
def reference_targets(entity: Entity) -> dict[str, str]:
    """From each reference and reference-list field of an entity to the entity that it leads to. Remembered: do not change it."""
    return {field.name: field.type.target for field in entity.fields if isinstance(field.type, ReferenceType | ReferenceListType)}


@attrs.frozen(eq=False)
class View:
    """The store as one acting object sees it. ``targets`` says where that object's references lead (:func:`reference_targets`)."""

    this: Object
    store: Store
    targets: dict[str, str]

    def referenced(self, field: str) -> Object | None:
        """The object that a single reference of the acting object names, None when it is null."""
        key = self.this[field]
        return None if key is None else self.store[self.targets[field]].get(key)

    def listed(self, field: str) -> list[Object]:
        """The objects in a reference list of the acting object."""
        objects = self.store[self.targets[field]]
        return [objects[key] for key in self.this[field] if key in objects]


def view(this: Object, store: Store, entity: Entity) -> View:
    """The view of ``this``, an object of ``entity`` that is in the store."""
    return View(this, store, reference_targets(entity))


def holds(condition: Condition, this: Object, store: Store, entity: Entity) -> bool:
    """Whether a condition of one of ``entity``'s actions holds for the acting object (B2)."""
    return is_met(condition, view(this, store, entity))


def refusal(action: Action, seen: View) -> Refusal | None:
    """Why the action is refused for the acting object, None when it is not. A null state is not among the from-values (B1)."""
    if seen.this[action.enum_field] not in action.from_values:
        return Refusal.WRONG_STATE
    if all(is_met(condition, seen) for condition in action.conditions):
        return None
    return Refusal.UNMET_CONDITION


def perform(action: Action, seen: View) -> None:
    """Run the effects in order, then move the enum field to the target value (B1, B3). Only for an action that is not refused."""
    run_effects(action.effects, seen)
    seen.this[action.enum_field] = action.to_value


def run_effects(effects: Iterable[Effect], seen: View) -> None:
    """Run effects in order, each seeing what those before it did (B3)."""
    for effect in effects:
        run_effect(effect, seen)


def run_effect(effect: Effect, seen: View) -> None:
    """Run one effect on every object in its scope."""
    for subject in written(effect.scope, seen):
        assign(subject, effect.target, effect.assignment, seen)


def written(scope: Scope, seen: View) -> Iterator[Object]:
    """The objects that an effect of this scope writes, none for a null reference or an empty list."""
    match scope:
        case OnThis():
            yield seen.this
        case OnReference(field):
            subject = seen.referenced(field)
            if subject is not None:
                yield subject
        case OnEach(field):
            yield from seen.listed(field)


def is_met(condition: Condition, seen: View, item: Object | None = None) -> bool:
    """Whether the condition holds; inside a quantifier ``item`` is the current object of the list."""
    match condition:
        case Comparison(left, comparator, right):
            return compare(value_of(left, seen, item), comparator, value_of(right, seen, item))
        case NullCheck(operand, is_null):
            return (value_of(operand, seen, item) is None) is is_null
        case Quantified(quantifier, list_field, inner):
            results = (is_met(inner, seen, each) for each in seen.listed(list_field))
            return any(results) if quantifier is Quantifier.ANY else all(results)


def compare(left: Json, comparator: Comparator, right: Json) -> bool:
    """One comparison; false whenever an operand is null, for ``!=`` too (B2)."""
    return left is not None and right is not None and _COMPARE[comparator](left, right)


def value_of(operand: Operand | Literal, seen: View, item: Object | None = None) -> Json:
    """What an operand is worth, None for null. ``item`` is the object that subject OTHER means here."""
    match operand:
        case Literal(value):
            return value
        case FieldRef():
            return _read(operand, seen, item)
        case Arithmetic(left, symbol, right):
            return arithmetic(_read(left, seen, item), symbol, _read(right, seen, item))
        case Count(list_field):
            return len(seen.this[list_field])
        case Sum(list_field, field):
            return sum(each[field] for each in seen.listed(list_field) if each[field] is not None)


def arithmetic(left: Number | None, symbol: ArithmeticOperator, right: Number | None) -> Number | None:
    """``left symbol right``, null when an operand is (B2). So is a result that no finite double can hold, which no test makes (V8)."""
    if left is None or right is None:
        return None
    result = _ARITHMETIC[symbol](left, right)
    return result if -LARGEST <= result <= LARGEST else None


def _read(operand: FieldRef, seen: View, other: Object | None) -> Json:
    if operand.subject is Subject.THIS:
        return seen.this[operand.field]
    if other is None:
        raise ValueError(f"{operand.field} is read from another object where there is none")
    return other[operand.field]


def assign(subject: Object, target: str, assignment: Assignment, seen: View) -> None:
    """Write one field of one object as an effect says (B3)."""
    match assignment:
        case SetTo(value):
            subject[target] = [] if value == () else value
            return
        case IncrementBy(amount):
            result = arithmetic(subject[target], ArithmeticOperator.ADD, amount)
        case Compute(value):
            result = value_of(value, seen, subject)
    if result is not None:
        subject[target] = result
