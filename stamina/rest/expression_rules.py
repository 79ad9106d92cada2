"""Whether conditions and effects are well typed (contract B2, B3). Every check raises InvalidState with the rule and the reason, without the place."""

from __future__ import annotations

from typing import Final, NoReturn, TypeAlias, assert_never

import attrs

from stamina.errors import InvalidState
from stamina.rest.constraints import float_problem, integer_problem, value_problem
from stamina.rest.expressions import (
    Arithmetic,
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
    Scope,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.schema import Action, DatetimeType, Entity, EnumType, Field, FieldType, FloatType, IntegerType, ReferenceListType, ReferenceType, State

NumericType: TypeAlias = IntegerType | FloatType

ORDER: Final = frozenset((Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE))
"""The comparators that need an order."""


@attrs.frozen
class Readers:
    """Whose fields the operands of one expression may read; a None subject is not there."""

    this: Entity | None
    other: Entity | None = None

    def field(self, ref: FieldRef) -> Field:
        """The field behind an operand. Raises InvalidState when there is none."""
        owner = self.this if ref.subject is Subject.THIS else self.other
        if owner is None:
            _refuse("B2", f"an operand cannot read a field of {ref.subject.value} here")
        return declared(owner, ref.field)


def declared(entity: Entity, name: str) -> Field:
    """The field of that name. Raises InvalidState when it is not declared (``id`` never is)."""
    field = entity.find_field(name)
    if field is None:
        _refuse("B2", f"{entity.name} has no field {name!r}")
    return field


def can_be_absent(field: Field) -> bool:
    """Whether a field can be null in a stored object (V3)."""
    return not isinstance(field.type, ReferenceListType) and (field.nullable or (not field.required and field.default is None))


def check_condition(state: State, entity: Entity, condition: Condition) -> None:
    """Raise InvalidState when a condition of an action of ``entity`` is not well typed (B2, D5)."""
    match condition:
        case Quantified():
            item = _referenced(state, entity, condition.list_field, ReferenceListType)
            _check_simple(state, Readers(this=None, other=item), condition.condition)
        case _:
            _check_simple(state, Readers(this=entity), condition)


def check_effect(state: State, entity: Entity, action: Action, effect: Effect) -> None:
    """Raise InvalidState when an effect of ``action`` is not well typed or writes what it must not (B3, D5)."""
    written = _written_entity(state, entity, effect.scope)
    target = declared(written, effect.target)
    if written.name == entity.name and effect.target == action.enum_field:
        _refuse("B3", f"an effect does not write {effect.target!r}, which the action itself moves")
    match effect.assignment:
        case SetTo(value=value):
            _check_set(target, value)
        case IncrementBy(amount=amount):
            _check_increment(target, amount)
        case Compute(value=value):
            _check_compute(Readers(entity, None if isinstance(effect.scope, OnThis) else written), target, value)
            if isinstance(effect.scope, OnEach):
                _check_for_each(entity, written, effect.target, value)


def _refuse(rule: str, reason: str) -> NoReturn:
    raise InvalidState(rule, reason)


def _referenced(state: State, entity: Entity, name: str, kind: type[ReferenceType] | type[ReferenceListType]) -> Entity:
    field = declared(entity, name)
    if not isinstance(field.type, kind):
        _refuse("B2", f"{entity.name}.{name} is not a {'reference list' if kind is ReferenceListType else 'reference'}")
    target = state.find(field.type.target)
    if target is None:
        _refuse("S3", f"{entity.name}.{name} refers to {field.type.target!r}, which does not exist")
    return target


def _check_simple(state: State, readers: Readers, condition: Comparison | NullCheck) -> None:
    match condition:
        case NullCheck():
            if not can_be_absent(readers.field(condition.operand)):
                _refuse("B2", f"{condition.operand.field!r} is never null")
        case Comparison():
            _check_comparison(state, readers, condition)


def _check_comparison(state: State, readers: Readers, comparison: Comparison) -> None:
    left = _operand_type(state, readers, comparison.left)
    if isinstance(left, ReferenceType | ReferenceListType):
        _refuse("B2", "a reference is not compared")
    if comparison.comparator in ORDER and not isinstance(left, IntegerType | FloatType | DatetimeType):
        _refuse("B2", f"{comparison.comparator.value} is for numbers and datetimes")
    match comparison.right:
        case Literal(value=value):
            if problem := value_problem(left, value):
                _refuse("D5", f"the literal of a comparison is outside its field: {problem}")
        case FieldRef():
            _check_pair(readers, comparison.left, left, comparison.right)


def _check_pair(readers: Readers, operand: Operand, left: FieldType, right: FieldRef) -> None:
    if isinstance(operand, Count | Sum):
        _refuse("B2", "count and sum are compared with a literal only")
    if operand == right:
        _refuse("B2", f"{right.field!r} is compared with itself")
    if isinstance(left, EnumType) or type(left) is not type(readers.field(right).type):
        _refuse("B2", f"{right.field!r} is not of the type that it is compared with")


def _operand_type(state: State, readers: Readers, operand: Operand) -> FieldType:
    """The type of an operand; of a computed one without bounds."""
    match operand:
        case FieldRef():
            return readers.field(operand).type
        case Arithmetic():
            return _arithmetic_type(readers, operand)
        case Count():
            if readers.this is None:
                _refuse("B2", "count is not for the items of a list")
            _referenced(state, readers.this, operand.list_field, ReferenceListType)
            return IntegerType()
        case Sum():
            if readers.this is None:
                _refuse("B2", "sum is not for the items of a list")
            item = _referenced(state, readers.this, operand.list_field, ReferenceListType)
            return _unbounded(_numeric(declared(item, operand.field)))
        case _:
            assert_never(operand)


def _arithmetic_type(readers: Readers, value: Arithmetic) -> NumericType:
    kinds = [_numeric(readers.field(ref)) for ref in (value.left, value.right)]
    return IntegerType() if all(isinstance(kind, IntegerType) for kind in kinds) else FloatType()


def _numeric(field: Field) -> NumericType:
    if not isinstance(field.type, IntegerType | FloatType):
        _refuse("B2", f"{field.name!r} is not numeric")
    return field.type


def _unbounded(kind: NumericType) -> NumericType:
    return IntegerType() if isinstance(kind, IntegerType) else FloatType()


def _written_entity(state: State, entity: Entity, scope: Scope) -> Entity:
    match scope:
        case OnThis():
            return entity
        case OnReference():
            return _referenced(state, entity, scope.field, ReferenceType)
        case OnEach():
            return _referenced(state, entity, scope.field, ReferenceListType)
        case _:
            assert_never(scope)


def _check_set(target: Field, value: object) -> None:
    if value is None:
        if not target.nullable:
            _refuse("B3", f"{target.name!r} is not nullable, so an effect cannot set it to null")
        return
    if isinstance(target.type, ReferenceListType) or value == ():
        if value != () or not isinstance(target.type, ReferenceListType):
            _refuse("B3", f"only a reference list is set to [], and to nothing else; {target.name!r} is not set so")
        return
    if not isinstance(value, str | int | float) or (problem := value_problem(target.type, value)):
        _refuse("D5", f"{target.name!r} cannot be set to {value!r}" + (f": {problem}" if isinstance(value, str | int | float) else ""))


def _check_increment(target: Field, amount: float) -> None:
    kind = _numeric(target)
    problem = integer_problem(amount) if isinstance(kind, IntegerType) else float_problem(amount)
    if problem:
        _refuse("B3", f"{target.name!r} cannot be increased: {problem}")
    if amount == 0:
        _refuse("B3", f"an increment of {target.name!r} by 0 does nothing")


def _check_compute(readers: Readers, target: Field, value: Arithmetic) -> None:
    result = _arithmetic_type(readers, value)
    if isinstance(_numeric(target), IntegerType) and not isinstance(result, IntegerType):
        _refuse("B3", f"{target.name!r} is an integer and takes integer operands only")


def _check_for_each(entity: Entity, written: Entity, target: str, value: Arithmetic) -> None:
    """Order over the list must not matter, not even when the acting object is in it (B3)."""
    for ref in (value.left, value.right):
        read = entity if ref.subject is Subject.THIS else written
        if (read.name, ref.field) == (written.name, target):
            _refuse("B3", f"a for-each must not write {target!r}, which its operands read")
