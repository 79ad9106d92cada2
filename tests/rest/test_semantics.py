"""What conditions and effects mean (B1-B3), rule by rule."""

import copy

import pytest

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
    Quantified,
    Quantifier,
    Scope,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.schema import Action, Entity, EnumType, Field, FloatType, IntegerType, ReferenceListType, ReferenceType, StringType
from stamina.rest.semantics import Refusal, Store, holds, perform, refusal, run_effects, view

NODE = Entity(
    "Node",
    fields=(
        Field("stage", EnumType("Stage", ("open", "held", "shut")), nullable=True),
        Field("a", IntegerType(), nullable=True),
        Field("b", IntegerType(), nullable=True),
        Field("weight", FloatType(), nullable=True),
        Field("label", StringType(), nullable=True),
        Field("parent", ReferenceType("Node")),
        Field("children", ReferenceListType("Node"), required=False),
    ),
)


def node(key: str, **fields: object) -> dict[str, object]:
    blank: dict[str, object] = {"id": key, "stage": "open", "a": None, "b": None, "weight": None, "label": None, "parent": None, "children": []}
    return blank | fields


def store(*nodes: dict[str, object]) -> Store:
    return {"Node": {str(each["id"]): each for each in nodes}}


def met(condition: Condition, *nodes: dict[str, object]) -> bool:
    return holds(condition, nodes[0], store(*nodes), NODE)


def run(effects: tuple[Effect, ...], *nodes: dict[str, object]) -> list[dict[str, object]]:
    run_effects(effects, view(nodes[0], store(*nodes), NODE))
    return list(nodes)


def other(field: str) -> FieldRef:
    return FieldRef(field, Subject.OTHER)


def on(scope: Scope, target: str, assignment: Assignment) -> Effect:
    return Effect(target, assignment, scope)


def formula(left: FieldRef, symbol: str, right: FieldRef) -> Arithmetic:
    return Arithmetic(left, ArithmeticOperator(symbol), right)


@pytest.mark.parametrize(
    ("comparator", "below", "same", "above"),
    [
        ("==", False, True, False),
        ("!=", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_comparisons_order_numbers(comparator: str, below: bool, same: bool, above: bool) -> None:
    """Each comparator tells below, equal and above apart; an integer equals the float of the same value."""
    condition = Comparison(FieldRef("a"), Comparator(comparator), Literal(5.0))
    assert [met(condition, node("x", a=value)) for value in (4, 5, 6)] == [below, same, above]


@pytest.mark.parametrize("comparator", list(Comparator))
def test_every_comparison_with_null_is_false(comparator: Comparator) -> None:
    """Null on either side, or inside the arithmetic, makes even ``!=`` false."""
    fields = Comparison(FieldRef("a"), comparator, FieldRef("b"))
    assert not met(fields, node("x", a=1))
    assert not met(fields, node("x", b=1))
    assert not met(fields, node("x"))
    assert not met(Comparison(formula(FieldRef("a"), "+", FieldRef("b")), comparator, Literal(3)), node("x", a=1))


@pytest.mark.parametrize(("symbol", "result"), [("+", 9), ("-", 5), ("*", 14)])
def test_arithmetic_keeps_the_order_of_its_operands(symbol: str, result: int) -> None:
    """Left minus right, not the other way round."""
    condition = Comparison(formula(FieldRef("a"), symbol, FieldRef("b")), Comparator.EQ, Literal(result))
    assert met(condition, node("x", a=7, b=2))
    assert not met(condition, node("x", a=7, b=3))


def test_null_checks() -> None:
    """A null check looks at null alone; 0 and the empty string are values."""
    for value in (0, ""):
        assert met(NullCheck(FieldRef("label"), is_null=False), node("x", label=value))
    assert met(NullCheck(FieldRef("label"), is_null=True), node("x"))
    assert met(NullCheck(FieldRef("parent"), is_null=True), node("x"))


def test_count_and_sum_over_a_list() -> None:
    """Count counts ids, sum skips nulls and is 0 for an empty list."""
    children = [node("y", a=4), node("z"), node("q", a=-1)]
    parent = node("x", children=["y", "z", "q"])
    assert met(Comparison(Count("children"), Comparator.EQ, Literal(3)), parent, *children)
    assert met(Comparison(Sum("children", "a"), Comparator.EQ, Literal(3)), parent, *children)
    assert met(Comparison(Sum("children", "a"), Comparator.EQ, Literal(0)), node("x"))


def test_any_and_all_over_a_list() -> None:
    """Of an empty list any is false and all is true; a null operand fails the sub-condition."""
    positive = Comparison(other("a"), Comparator.GT, Literal(0))
    some, every = Quantified(Quantifier.ANY, "children", positive), Quantified(Quantifier.ALL, "children", positive)
    lone = node("x", a=-1)
    assert (met(some, lone), met(every, lone)) == (False, True)
    mixed = [node("x", children=["y", "z"]), node("y", a=1), node("z")]
    assert (met(some, *mixed), met(every, *mixed)) == (True, False)
    both = [node("x", children=["y", "z"]), node("y", a=1), node("z", a=2)]
    assert (met(some, *both), met(every, *both)) == (True, True)


@pytest.mark.parametrize(
    ("assignment", "before", "after"),
    [
        (SetTo(4), {"a": 1}, {"a": 4}),
        (SetTo(None), {"a": 1}, {"a": None}),
        (IncrementBy(-3), {"a": 1}, {"a": -2}),
        (IncrementBy(3), {"a": None}, {"a": None}),
        (Compute(formula(FieldRef("b"), "-", FieldRef("a"))), {"a": 1, "b": 9}, {"a": 8, "b": 9}),
        (Compute(formula(FieldRef("b"), "*", FieldRef("a"))), {"a": 6, "b": None}, {"a": 6, "b": None}),
    ],
)
def test_effects_on_the_acting_object(assignment: Assignment, before: dict[str, object], after: dict[str, object]) -> None:
    """A null operand leaves the target as it is."""
    assert run((on(OnThis(), "a", assignment),), node("x", **before)) == [node("x", **after)]


def test_a_list_is_cleared_to_a_fresh_list() -> None:
    """Two objects whose lists were cleared never share one."""
    clear = on(OnEach("children"), "children", SetTo(()))
    _, first, second = run((clear,), node("x", children=["y", "z"]), node("y", children=["x"]), node("z", children=["x"]))
    assert first["children"] == second["children"] == []
    assert first["children"] is not second["children"]


def test_effects_on_the_referenced_object() -> None:
    """OTHER is the object being written, THIS the acting one; a null reference skips the effect."""
    effect = on(OnReference("parent"), "a", Compute(formula(other("a"), "-", FieldRef("b"))))
    assert run((effect,), node("x", a=1, b=2, parent="y"), node("y", a=30, b=40))[1]["a"] == 28
    assert run((effect,), node("x", a=1, b=2), node("y", a=30, b=40)) == [node("x", a=1, b=2), node("y", a=30, b=40)]


def test_effects_on_each_object_of_a_list() -> None:
    """Each listed object gets its own result, others stay as they are."""
    effect = on(OnEach("children"), "weight", Compute(formula(other("a"), "*", FieldRef("b"))))
    nodes = run((effect,), node("x", b=3, children=["y", "z"]), node("y", a=2), node("z", a=5), node("q", a=7))
    assert [each["weight"] for each in nodes] == [None, 6, 15, None]


def test_effects_see_what_those_before_them_did() -> None:
    """Order matters, also through a list that an effect has cleared."""
    add, double = on(OnThis(), "a", IncrementBy(5)), on(OnThis(), "a", Compute(formula(FieldRef("a"), "*", FieldRef("b"))))
    assert run((add, double), node("x", a=1, b=2))[0]["a"] == 12
    assert run((double, add), node("x", a=1, b=2))[0]["a"] == 7
    clear, raise_each = on(OnThis(), "children", SetTo(())), on(OnEach("children"), "a", IncrementBy(1))
    assert run((clear, raise_each), node("x", children=["y"]), node("y", a=1))[1]["a"] == 1


def test_a_reference_back_to_the_acting_object_is_the_same_object() -> None:
    """What is written through the reference is read through ``this``, and the other way round."""
    effects = (on(OnReference("parent"), "a", IncrementBy(1)), on(OnThis(), "b", Compute(formula(FieldRef("a"), "+", FieldRef("a")))))
    assert run(effects, node("x", a=1, b=0, parent="x"))[0]["b"] == 4


def test_a_result_beyond_every_double_leaves_the_target_alone() -> None:
    """Repeated squaring neither raises nor stores something that JSON cannot carry."""
    square = on(OnThis(), "weight", Compute(formula(FieldRef("weight"), "*", FieldRef("weight"))))
    assert run((square,) * 12, node("x", weight=1e3))[0]["weight"] == pytest.approx(1e192)


SHUT = Action("close", "stage", ("open", "held"), "shut", (NullCheck(FieldRef("a"), is_null=False),), (on(OnThis(), "stage", SetTo("held")),))


def test_the_wrong_state_is_told_before_an_unmet_condition() -> None:
    """A null state is not among the from-values (B1)."""
    assert refusal(SHUT, view(node("x", stage="shut"), store(), NODE)) is Refusal.WRONG_STATE
    assert refusal(SHUT, view(node("x", stage=None, a=1), store(), NODE)) is Refusal.WRONG_STATE
    assert refusal(SHUT, view(node("x", stage="held"), store(), NODE)) is Refusal.UNMET_CONDITION
    assert refusal(SHUT, view(node("x", stage="held", a=1), store(), NODE)) is None


def test_the_enum_field_moves_after_the_effects() -> None:
    """An effect on the enum field itself is overwritten by the target value."""
    this = node("x", a=1)
    before = copy.deepcopy(this)
    perform(SHUT, view(this, store(this), NODE))
    assert this == before | {"stage": "shut"}
