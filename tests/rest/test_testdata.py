"""Test values are what they claim to be, by the ground truth's own checks (V1-V8)."""

from hypothesis import assume, given
from hypothesis import strategies as st

from stamina.rest import testdata
from stamina.rest.candidates import tame
from stamina.rest.schema import BooleanType, DatetimeType, EnumType, Field, FieldType, FloatType, IntegerType, StringType
from stamina.rest.values import checker


def pair(values: st.SearchStrategy[int], gap: int) -> st.SearchStrategy[tuple[int | None, int | None]]:
    """An optional lower and an optional upper bound, at least ``gap`` apart."""
    bounds = st.tuples(values, values, st.booleans(), st.booleans()).map(lambda drawn: (min(drawn[:2]), max(drawn[:2]) + gap, *drawn[2:]))
    return bounds.map(lambda drawn: (drawn[0] if drawn[2] else None, drawn[1] if drawn[3] else None))


def instant(seconds: int | None) -> str | None:
    return None if seconds is None else testdata.step_datetime("2000-01-01 00:00:00", seconds)


TYPES: st.SearchStrategy[FieldType] = st.one_of(
    pair(st.integers(0, 80), 2).map(lambda bounds: StringType(*bounds)),
    pair(st.integers(-(10**6), 10**6), 2).map(lambda bounds: IntegerType(*bounds)),
    pair(st.integers(-(10**6), 10**6), 2).map(lambda bounds: FloatType(*(None if bound is None else bound / 64 for bound in bounds))),
    pair(st.integers(-(10**9), 10**9), 2).map(lambda bounds: DatetimeType(instant(bounds[0]), instant(bounds[1]))),
    st.just(BooleanType()),
    st.integers(2, 5).map(lambda size: EnumType("Kind", ("red", "dark_red", "green", "blue", "grey")[:size])),
)
FIELDS = TYPES.map(lambda kind: Field("thing", kind))
NUMBERS = st.integers(0, 6000)


def is_taken(field: Field, value: object) -> bool:
    return checker(field)(value, lambda _: ()) is None and tame(value)


@given(FIELDS, NUMBERS)
def test_ordinary_values_are_valid_and_neighbours_differ(field: Field, number: int) -> None:
    one, two = testdata.ordinary(field, number), testdata.ordinary(field, number + 1)
    assert is_taken(field, one)
    assert is_taken(field, two)
    assume(field.type != StringType(0, 2) and not (isinstance(field.type, StringType) and (field.type.max_length or 99) < 4))
    assert one != two


@given(FIELDS, NUMBERS)
def test_ordinary_values_are_not_the_default(field: Field, number: int) -> None:
    with_default = Field("thing", field.type, default=testdata.ordinary(field, number))
    assume(not isinstance(field.type, StringType) or (field.type.max_length or 99) > 3)
    assert testdata.ordinary(with_default, number) != with_default.default


@given(FIELDS)
def test_values_at_the_bounds_are_taken_and_one_step_further_refused(field: Field) -> None:
    assert testdata.inside(field)
    assert all(is_taken(field, probe.value) for probe in testdata.inside(field))
    assert not any(is_taken(field, probe.value) for probe in testdata.outside(field))


@given(FIELDS)
def test_each_bound_is_met_exactly_and_overstepped(field: Field) -> None:
    kind = field.type
    bounds = {
        StringType: lambda: (kind.min_length or None, kind.max_length),  # type: ignore[union-attr]
        IntegerType: lambda: (kind.minimum, kind.maximum),  # type: ignore[union-attr]
        FloatType: lambda: (kind.minimum, kind.maximum),  # type: ignore[union-attr]
        DatetimeType: lambda: (kind.earliest, kind.latest),  # type: ignore[union-attr]
    }.get(type(kind), lambda: ())()  # type: ignore[call-overload]
    sizes = [len(probe.value) if isinstance(kind, StringType) else probe.value for probe in testdata.inside(field)]
    assert {bound for bound in bounds if bound is not None} <= set(sizes)
    assert len(testdata.outside(field)) == sum(bound is not None for bound in bounds)


@given(FIELDS, NUMBERS)
def test_wrong_values_are_refused_each_with_a_reason(field: Field, number: int) -> None:
    probes = testdata.wrong(field, number)
    assert len(probes) >= 2
    assert not any(is_taken(field, probe.value) for probe in probes)
    assert all(probe.why.startswith("thing") for probe in probes)


JSON_TYPES = {IntegerType: (int,), FloatType: (int, float), BooleanType: (bool,)}


@given(FIELDS, NUMBERS)
def test_either_half_of_the_wrong_values_holds_one_of_another_json_type(field: Field, number: int) -> None:
    """One half is sent by POST, the other by PATCH: a server may check types in one of them alone."""
    right = JSON_TYPES.get(type(field.type), (str,))
    for start in (0, 1):
        assert any(type(probe.value) not in right for probe in testdata.wrong(field, number)[start::2])


def test_the_first_wrong_value_of_an_enum_is_one_of_another_enum() -> None:
    fields = (Field("thing", EnumType("A", ("red", "blue"))), Field("more", EnumType("B", ("blue", "green", "gray"))), Field("word", StringType()))
    assert testdata.choices_elsewhere(fields, fields[0]) == ("green", "gray")
    assert {testdata.wrong(fields[0], number, fields)[0].value for number in range(4)} == {"green", "gray"}
    assert testdata.choices_elsewhere(fields[:1], fields[0]) == ()


@given(st.integers(-(10**9), 10**9))
def test_an_impossible_date_lies_within_wide_bounds_so_that_only_the_calendar_refuses_it(start: int) -> None:
    """Every span of a year holds the end of a short month."""
    earliest, latest = instant(start), instant(start + 400 * 86_400)
    assert earliest is not None
    assert latest is not None
    field = Field("thing", DatetimeType(earliest, latest))
    impossible = next(probe.value for probe in testdata.wrong(field, 0) if "calendar" in probe.why)
    assert earliest <= impossible <= latest


@given(FIELDS)
def test_the_ends_are_valid(field: Field) -> None:
    assert all(is_taken(field, value) for value in testdata.ends(field))
