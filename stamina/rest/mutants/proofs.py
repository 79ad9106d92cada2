"""What the conditions and effects of an action prove about values, so that a mutant that no test can tell from the truth is known by rule (B2, B3).

Each proof is a sentence with its rule; the empty string is no proof. Proofs hold for every store that a client can bring about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, TypeAlias

import attrs

from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
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
    Quantified,
    Quantifier,
    Scope,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.mutants.nulls import always_null, as_words, null_places, own_fields, places_read, set_places
from stamina.rest.schema import Action, Entity, EnumType, Field, FloatType, IntegerType
from stamina.rest.semantics import View, compare, is_met
from stamina.rest.values import may_be_null

NOWHERE: Final = "B2, B3: the conditions hold only when {} is null, so the effect has nothing to write"
OVERRULED: Final = "B3: the transition comes last and overrules what an effect writes into its enum field"
OVERWRITTEN: Final = "B3: effect {} overwrites it before anything reads it"
STAYS_NULL: Final = "B3: {} is null whenever the effect is reached, so the effect leaves its target as it is"
DONE_ANYWAY: Final = "B3: effect {} has set it on the acting object already"
CANCEL: Final = "B3: the increments add up to nothing"
ALREADY: Final = "B2, B3: the conditions hold only when {} has this value already"
NEVER_EMPTY: Final = "B2: condition {} does not hold when {} is empty"
AT_TARGET: Final = "B1: the action is refused only where its enum field stands at the target already, if anywhere"
NEVER_REFUSED: Final = "B1: the action has no conditions and can start from every value that its enum field can have"
OUT_OF_BOUNDS: Final = "B4: from no value of {} does the result stay inside the bounds, so tests let the effect meet null alone, and then it does nothing"
AT_MOST_ONE: Final = "B2: condition {} does not hold when {} has more than one object"
NEVER_EQUAL: Final = "B2: condition {} does not hold when the two fields are equal"
APART: Final = "V4: by their bounds {} and {} are never equal"
IMPLIED: Final = "B2: another condition asks for one value, which meets this one"
ANY_ORDER: Final = "B2: conditions are joined by AND, in any order"
COMMUTING: Final = "B3: neither of the effects that change places reads or writes what the other writes"
REDUCED: Final = "B3: they differ in effects alone that are overwritten or find null, and do the same without those"
ONE_OBJECT: Final = "B2: the other conditions hold only when {} has exactly one object, and then any and all are the same"
EACH_MEETS: Final = "B2: where the other conditions hold, every object in {} meets this one"
NOT_ITSELF: Final = "B1, B2: condition {} asks of every object in the list what the acting one cannot meet, so the list never leads back"
NULL_IS_WRONG_STATE: Final = "B1: the enum field alone can be null there, and null is a wrong state"
NEVER_NULL: Final = "B2: the conditions hold only when {} is not null"


def only_refused_at_target(entity: Entity, action: Action) -> str:
    """Why a transition that wrongly takes place on refusal does not show."""
    return AT_TARGET if _refused_from(entity, action) <= {action.to_value} else ""


def never_refused(entity: Entity, action: Action) -> str:
    """Why nothing ever shows of what happens on refusal."""
    return "" if _refused_from(entity, action) else NEVER_REFUSED


def _refused_from(entity: Entity, action: Action) -> set[str | None]:
    """The values of the enum field at which the action may be refused."""
    field = entity.field(action.enum_field)
    assert isinstance(field.type, EnumType)
    values: set[str | None] = {value for value in field.type.values if action.conditions or value not in action.from_values}
    return values | ({None} if may_be_null(field) else set())


def same_but_for_order(one: Action, other: Action) -> str:
    """Why two actions do the same that differ in the order of their conditions and effects."""
    if attrs.evolve(one, conditions=(), effects=()) != attrs.evolve(other, conditions=(), effects=()):
        return ""
    if set(one.conditions) != set(other.conditions) or Counter(one.effects) != Counter(other.effects):
        return ""
    if one.effects == other.effects:
        return ANY_ORDER
    places = {effect: place for place, effect in enumerate(other.effects)}
    moved = [(first, second) for first, second in combinations(one.effects, 2) if places[first] > places[second]]
    return COMMUTING if len(places) == len(one.effects) and all(commute(*pair) for pair in moved) else ""


def reduced(action: Action) -> Action:
    """The action without the effects that leave no trace or never change anything: what is left does the same."""
    for index in range(len(action.effects)):
        if effect_without_trace(action, index) or effect_without_force(action, index):
            return reduced(attrs.evolve(action, effects=(*action.effects[:index], *action.effects[index + 1 :])))
    return action


def same_when_reduced(one: Action, other: Action) -> str:
    """Why two actions do the same that differ in their effects: they come to the same once those are left out that change nothing."""
    left = reduced(one), reduced(other)
    return REDUCED if left != (one, other) and (left[0] == left[1] or same_but_for_order(*left)) else ""


def implied(one: Action, other: Action) -> str:
    """Why two actions do the same of which one asks for more: a field that a condition of both pins to one value meets what is asked for besides."""
    if attrs.evolve(one, conditions=()) != attrs.evolve(other, conditions=()):
        return ""
    common = [each for each in one.conditions if each in other.conditions]
    values = {left.field: right.value for left, right in _equalities(common) if left.subject is Subject.THIS}
    more = [each for each in (*one.conditions, *other.conditions) if each not in common]
    for each in more:
        match each:
            case Comparison(FieldRef(name, Subject.THIS), _, Literal()) | NullCheck(FieldRef(name, Subject.THIS)) if name in values:
                if not is_met(each, View({name: values[name]}, {}, {})):
                    return ""
            case _:
                return ""
    return IMPLIED if more else ""


def _equalities(conditions: Iterable[Condition]) -> Iterator[tuple[FieldRef, Literal]]:
    for each in conditions:
        match each:
            case Comparison(FieldRef() as left, Comparator.EQ, Literal() as right):
                yield left, right
            case _:
                pass


def commute(one: Effect, two: Effect) -> bool:
    """Whether it does not matter which of two effects comes first: neither reads or writes what the other writes, or both increment."""
    if isinstance(one.assignment, IncrementBy) and isinstance(two.assignment, IncrementBy):
        return not (_leads(one, two) or _leads(two, one))
    return one.target != two.target and not _may_read(one, two) and not _may_read(two, one)


def _leads(one: Effect, two: Effect) -> bool:
    """Whether one effect writes the reference or list through which the other finds what it writes."""
    return isinstance(two.scope, OnReference | OnEach) and two.scope.field == one.target


def effect_without_trace(action: Action, index: int) -> str:
    """Why nothing ever shows of what an effect of the action writes, whatever it is meant to write."""
    effect = action.effects[index]
    if isinstance(effect.scope, OnThis) and effect.target == action.enum_field:
        return OVERRULED
    return finds_nothing(action, index) or _overwritten(action, index)


def finds_nothing(action: Action, index: int) -> str:
    """Why there is never an object that an effect through a reference could write."""
    scope = action.effects[index].scope
    return NOWHERE.format(f"this.{scope.field}") if isinstance(scope, OnReference) and scope.field in always_null(action, index) else ""


def effect_without_force(action: Action, index: int) -> str:
    """Why an effect, right as it is, never changes anything."""
    effect, places = action.effects[index], null_places(action, index)
    null = [place for place in places_read(effect) if place in places]
    if null:
        return STAYS_NULL.format(as_words(null[0]))
    if not isinstance(effect.assignment, SetTo):
        return ""
    if effect.assignment.value is None and (effect.scope, effect.target) in places:
        return ALREADY.format(as_words((effect.scope, effect.target)))
    if isinstance(effect.scope, OnThis) and (effect.target, effect.assignment.value) in _pinned(action, index):
        return ALREADY.format(f"this.{effect.target}")
    return ""


def effect_of_null(action: Action, index: int) -> str:
    """Why an effect never changes anything, on whatever object: it reads a field of the acting one that is null."""
    effect = action.effects[index]
    read = set(own_fields(effect.assignment.value)) if isinstance(effect.assignment, Compute) else set()
    null = read & always_null(action, index)
    return STAYS_NULL.format(f"this.{min(null)}") if null else ""


def done_anyway(action: Action, index: int) -> str:
    """Why it does not show on the acting object whether an effect through a reference or list takes place there: another effect on it makes up for that."""
    effect = action.effects[index]
    for number, earlier in reversed(list(enumerate(action.effects[:index], 1))):
        if earlier.target == effect.target:
            same = isinstance(earlier.scope, OnThis) and isinstance(effect.assignment, SetTo) and earlier.assignment == effect.assignment
            if same:
                return DONE_ANYWAY.format(number)
            break
    return _overwritten(action, index, OnThis())


def effects_cancel(action: Action) -> str:
    """Why it never shows whether all effects take place or none: they are increments that add up to nothing."""
    sums: Counter[str] = Counter()
    for effect in action.effects:
        if not isinstance(effect.scope, OnThis) or not isinstance(effect.assignment, IncrementBy):
            return ""
        sums[effect.target] += effect.assignment.amount  # type: ignore[assignment]  # floats too
    return "" if any(sums.values()) else CANCEL


def unwritable(field: Field, effect: Effect, operands: tuple[Field, ...]) -> str:
    """Why an increment or arithmetic never writes anything in a fair test: from no values inside the bounds does the result come to lie inside them."""
    span = _span(field)
    match effect.assignment:
        case IncrementBy(amount):
            result = (span[0] + amount, span[1] + amount)
        case Compute(Arithmetic(_, symbol, _)):
            result = _combined(symbol, *map(_span, operands))
        case _:
            return ""
    return OUT_OF_BOUNDS.format(field.name) if result[0] > span[1] or result[1] < span[0] else ""


def apart(one: Field, two: Field) -> str:
    """Why two numbers are never equal."""
    spans = _span(one), _span(two)
    return APART.format(one.name, two.name) if spans[0][0] > spans[1][1] or spans[1][0] > spans[0][1] else ""


Span: TypeAlias = tuple[float, float]
"""The least and the largest value of a number."""


def _span(field: Field) -> Span:
    if not isinstance(field.type, IntegerType | FloatType):
        return -math.inf, math.inf
    low, high = field.type.minimum, field.type.maximum
    return -math.inf if low is None else low, math.inf if high is None else high


def _combined(symbol: ArithmeticOperator, one: Span, two: Span) -> Span:
    """Where a result lies; a product without bounds anywhere."""
    match symbol:
        case ArithmeticOperator.ADD:
            return one[0] + two[0], one[1] + two[1]
        case ArithmeticOperator.SUBTRACT:
            return one[0] - two[1], one[1] - two[0]
        case ArithmeticOperator.MULTIPLY:
            corners = [left * right for left in one for right in two]
            return (-math.inf, math.inf) if any(map(math.isinf, (*one, *two))) else (min(corners), max(corners))


def never_empty(action: Action, list_field: str) -> str:
    """Why the acting object's list is not empty when the action is taken: a condition would not hold."""
    for number, each in enumerate(action.conditions, 1):
        match each:
            case Quantified(Quantifier.ANY, name, _) if name == list_field:
                return NEVER_EMPTY.format(number, f"this.{list_field}")
            case Comparison(Count(name) | Sum(name, _), comparator, Literal(value)) if name == list_field and not compare(0, comparator, value):
                return NEVER_EMPTY.format(number, f"this.{list_field}")
            case _:
                pass
    return ""


def at_most_one(action: Action, list_field: str) -> str:
    """Why the acting object's list has no second object when the action is taken."""
    for number, each in enumerate(action.conditions, 1):
        match each:
            case Comparison(Count(name), comparator, Literal(int() as value)) if name == list_field:
                if not any(compare(size, comparator, value) for size in (2, 3, max(value, 2), max(value + 1, 2))):
                    return AT_MOST_ONE.format(number, f"this.{list_field}")
            case _:
                pass
    return ""


def never_leads_back(action: Action, list_field: str) -> str:
    """Why the acting object is not in its own list when the action is taken: it would have to meet a condition that it cannot meet."""
    values: dict[str, Iterable[object]] = {name: (value,) for name, value in _pinned(action, 0)} | {action.enum_field: action.from_values}
    for number, each in enumerate(action.conditions, 1):
        match each:
            case Quantified(Quantifier.ALL, name, Comparison(FieldRef(field, Subject.OTHER), _, Literal()) | NullCheck(FieldRef(field)) as inner):
                if name == list_field and field in values and not any(is_met(inner, View({}, {}, {}), {field: value}) for value in values[field]):
                    return NOT_ITSELF.format(number)
            case _:
                pass
    return ""


def exactly_one(action: Action, index: int) -> str:
    """Why the list that condition ``index`` asks about holds one object, no more and no less, where the others hold."""
    condition = action.conditions[index]
    rest = attrs.evolve(action, conditions=(*action.conditions[:index], *action.conditions[index + 1 :]))
    if not isinstance(condition, Quantified) or not never_empty(rest, condition.list_field) or not at_most_one(rest, condition.list_field):
        return ""
    return ONE_OBJECT.format(f"this.{condition.list_field}")


def each_meets(action: Action, index: int) -> str:
    """Why it does not matter which objects of a list condition ``index`` looks at, as long as there are any: where the others hold, all of them meet it."""
    condition = action.conditions[index]
    if not isinstance(condition, Quantified):
        return ""
    rest = attrs.evolve(action, conditions=(*action.conditions[:index], *action.conditions[index + 1 :]))
    asked = attrs.evolve(condition, quantifier=Quantifier.ALL) in rest.conditions
    match condition.condition:
        case NullCheck(operand, is_null):
            asked |= (OnEach(condition.list_field), operand.field) in (null_places(rest, 0) if is_null else set_places(rest, 0))
        case _:
            pass
    return EACH_MEETS.format(f"this.{condition.list_field}") if asked else ""


def any_is_all(action: Action, index: int) -> str:
    """Why it does not matter whether condition ``index`` asks for any object of a list or for all."""
    condition = action.conditions[index]
    rest = attrs.evolve(action, conditions=(*action.conditions[:index], *action.conditions[index + 1 :]))
    is_there = isinstance(condition, Quantified) and never_empty(rest, condition.list_field)
    return exactly_one(action, index) or (each_meets(action, index) if is_there else "")


def never_equal(action: Action, index: int) -> str:
    """Why the two sides of a comparison of fields are never equal when all other conditions hold."""
    mine = action.conditions[index]
    if not isinstance(mine, Comparison) or not isinstance(mine.left, FieldRef) or not isinstance(mine.right, FieldRef):
        return ""
    for number, each in enumerate(action.conditions, 1):
        if number - 1 != index and isinstance(each, Comparison) and {each.left, each.right} == {mine.left, mine.right} and not compare(0, each.comparator, 0):
            return NEVER_EQUAL.format(number)
    return ""


def _pinned(action: Action, index: int) -> frozenset[tuple[str, object]]:
    """Fields of the acting object with the one value that they can have when effect ``index`` is reached."""
    values: dict[str, object] = dict.fromkeys(always_null(action, 0))
    for each in action.conditions:
        match each:
            case Comparison(FieldRef(name, Subject.THIS), Comparator.EQ, Literal(value)):
                values[name] = value
            case _:
                pass
    for effect in action.effects[:index]:
        values.pop(effect.target, None)
        if isinstance(effect.assignment, SetTo) and isinstance(effect.scope, OnThis):
            values[effect.target] = effect.assignment.value
    return frozenset(values.items())


def _overwritten(action: Action, index: int, scope: Scope | None = None) -> str:
    """A later effect of the same scope, or of the given one, sets the same field, and what those in between make of it is overwritten too."""
    effect = action.effects[index]
    scope, stale = scope or effect.scope, {effect.target}
    for number, later in enumerate(action.effects[index + 1 :], index + 2):
        if later.scope == scope and later.target in stale and _always_writes(action, later, number - 1) and stale.isdisjoint(_read_there(later)):
            stale.discard(later.target)
            if not stale:
                return OVERWRITTEN.format(number)
        elif later.scope == scope and stale.isdisjoint(_read_elsewhere(later)):
            stale |= set() if stale.isdisjoint(_read_there(later)) else {later.target}
        elif any(_may_read(later, attrs.evolve(effect, target=name)) for name in stale):
            return ""
        if isinstance(scope, OnReference | OnEach) and later.target == scope.field:
            return ""
    return ""


def _read_there(effect: Effect) -> Iterator[str]:
    """The fields that an effect reads of the objects that it writes."""
    own = Subject.THIS if isinstance(effect.scope, OnThis) else Subject.OTHER
    if isinstance(effect.assignment, IncrementBy):
        yield effect.target
    if isinstance(effect.assignment, Compute):
        yield from (ref.field for ref in (effect.assignment.value.left, effect.assignment.value.right) if ref.subject is own)


def _read_elsewhere(effect: Effect) -> Iterator[str]:
    """The fields that an effect on other objects reads of the acting one."""
    if isinstance(effect.scope, OnThis):
        return
    yield effect.scope.field
    if isinstance(effect.assignment, Compute):
        yield from own_fields(effect.assignment.value)


def _always_writes(action: Action, later: Effect, index: int) -> bool:
    """Whether the effect writes a value that does not depend on what was there."""
    if isinstance(later.assignment, SetTo):
        return True
    if not isinstance(later.assignment, Compute) or not isinstance(later.scope, OnThis):
        return False
    read = set(places_read(later))
    return (later.scope, later.target) not in read and read <= set_places(action, index)


def _may_read(later: Effect, effect: Effect) -> bool:
    """Whether an effect may read the field that another has written: by its name, whoever it belongs to."""
    if isinstance(later.scope, OnReference | OnEach) and later.scope.field == effect.target:
        return True
    if isinstance(later.assignment, IncrementBy):
        return later.target == effect.target
    if isinstance(later.assignment, Compute):
        return effect.target in (later.assignment.value.left.field, later.assignment.value.right.field)
    return False
