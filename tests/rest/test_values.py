"""Which values a field takes (V1-V7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.schema import BooleanType, DatetimeType, EnumType, Field, FieldType, FloatType, IntegerType, ReferenceListType, ReferenceType, StringType
from stamina.rest.values import is_instant, may_be_null, problem

IDS = {"Dog": {"rex", "ada"}}

STRING = StringType(min_length=2, max_length=4)
INTEGER = IntegerType(minimum=-2, maximum=7)
FLOAT = FloatType(minimum=0.5, maximum=2.25)
MOMENT = DatetimeType(earliest="2020-01-01 00:00:00", latest="2020-12-31 23:59:59")
COLOUR = EnumType("Colour", ("red", "blue"))
DOG = ReferenceType("Dog")
DOGS = ReferenceListType("Dog")


def fault(kind: FieldType, value: object, **options: bool) -> str | None:
    return problem(Field("age", kind, **options), value, IDS.__getitem__)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (STRING, "ab"),
        (STRING, "abcd"),
        (STRING, "ü€𝄞"),
        (StringType(), ""),
        (INTEGER, -2),
        (INTEGER, 0),
        (INTEGER, 7),
        (FLOAT, 0.5),
        (FLOAT, 2.25),
        (FLOAT, 1),
        (BooleanType(), True),
        (BooleanType(), False),
        (MOMENT, "2020-01-01 00:00:00"),
        (MOMENT, "2020-02-29 12:00:00"),
        (MOMENT, "2020-12-31 23:59:59"),
        (COLOUR, "blue"),
        (DOG, "rex"),
        (DOG, None),
        (DOGS, []),
        (DOGS, ["ada", "rex"]),
    ],
)
def test_takes_what_lies_inside_its_bounds(kind: FieldType, value: object) -> None:
    """Bounds are inclusive and lengths count characters."""
    assert fault(kind, value) is None


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (STRING, "a", "age must have at least 2 characters"),
        (STRING, "abcde", "age must have at most 4 characters"),
        (STRING, 12, "age must be a string"),
        (INTEGER, -3, "age must be at least -2"),
        (INTEGER, 8, "age must be at most 7"),
        (INTEGER, True, "age must be an integer"),
        (INTEGER, "5", "age must be an integer"),
        (INTEGER, 1.5, "age must be an integer"),
        (FLOAT, 0.25, "age must be at least 0.5"),
        (FLOAT, 2.5, "age must be at most 2.25"),
        (FLOAT, False, "age must be a number"),
        (FLOAT, "1", "age must be a number"),
        (FloatType(), float("inf"), "age is too large"),
        (FloatType(), float("nan"), "age is too large"),
        (IntegerType(), 10**400, "age is too large"),
        (BooleanType(), 1, "age must be a boolean"),
        (BooleanType(), "true", "age must be a boolean"),
        (MOMENT, "2019-12-31 23:59:59", "age must not be before 2020-01-01 00:00:00"),
        (MOMENT, "2021-01-01 00:00:00", "age must not be after 2020-12-31 23:59:59"),
        (MOMENT, "2020-02-30 00:00:00", "age must be a datetime of the form YYYY-MM-DD hh:mm:ss"),
        (COLOUR, "Blue", "age must be one of red, blue"),
        (COLOUR, ["red"], "age must be one of red, blue"),
        (DOG, "tom", "age names no existing Dog"),
        (DOG, 3, "age must be the id of a Dog"),
        (DOG, ["rex"], "age must be the id of a Dog"),
        (DOGS, "rex", "age must be an array of Dog ids"),
        (DOGS, None, "age must be an array of Dog ids"),
        (DOGS, ["rex", "tom"], "age holds something that is not the id of an existing Dog"),
        (DOGS, [["rex"]], "age holds something that is not the id of an existing Dog"),
    ],
)
def test_refuses_with_a_sentence_about_the_field(kind: FieldType, value: object, message: str) -> None:
    """Nothing is converted, and the message names the field and the bound."""
    assert fault(kind, value) == message


@pytest.mark.parametrize("kind", [STRING, INTEGER, FLOAT, BooleanType(), MOMENT, COLOUR])
def test_null_is_taken_only_where_nullable(kind: FieldType) -> None:
    """An explicit null is a matter of nullable alone, not of required (V3)."""
    assert fault(kind, None, nullable=False, required=False) == "age must not be null"
    assert fault(kind, None, nullable=True, required=True) is None


def test_null_can_be_stored_by_leaving_the_field_out() -> None:
    """Optional without default counts as null, also when non-nullable (V3)."""
    assert may_be_null(Field("age", INTEGER, required=False))
    assert not may_be_null(Field("age", INTEGER, required=False, default=3))
    assert not may_be_null(Field("age", INTEGER))
    assert may_be_null(Field("age", DOG))
    assert not may_be_null(Field("age", DOGS, required=False))


@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01T00:00:00",
        "2020-01-01 24:00:00",
        "2020-01-01 00:60:00",
        "2020-01-01 00:00:60",
        "2020-01-01 00:00",
        "2020-1-1 00:00:00",
        "2020-01-01 00:00:00Z",
        "2020-01-01 00:00:00\n",
        " 2020-01-01 00:00:00",
        "0000-01-01 00:00:00",
        "2021-02-29 00:00:00",
        "٢٠٢٠-01-01 00:00:00",
        "",
    ],
)
def test_only_the_exact_form_is_a_datetime(text: str) -> None:
    """Close relatives of the format, and days that the calendar does not have, are none (V2)."""
    assert not is_instant(text)


@given(st.datetimes())
def test_every_instant_of_the_calendar_is_a_datetime(moment: object) -> None:
    """Years 1 to 9999 all count, whatever the seconds."""
    assert is_instant(str(moment)[:19])
