"""Field types: each knows which JSON values it takes."""

import re
from datetime import datetime
from math import isfinite


class Invalid(Exception):
    """The request is bad input."""


MISSING = object()


class Field:
    def __init__(self, required=False, nullable=False, default=MISSING):
        self.required = required
        self.nullable = nullable
        self.default = default

    def when_left_out(self):
        """The value stored if a POST does not have the field."""
        if self.default is not MISSING:
            return self.default
        if self.required:
            raise Invalid("is required")
        return None

    def accept(self, value, store):
        """The value to store for one that was sent."""
        if value is None:
            if not self.nullable:
                raise Invalid("must not be null")
            return None
        return self.check(value, store)

    def check(self, value, store):
        raise NotImplementedError


class Bounded(Field):
    """A field whose values (or sizes) lie between two inclusive bounds."""

    def __init__(self, low=None, high=None, **kw):
        super().__init__(**kw)
        self.low = low
        self.high = high

    def within(self, measure):
        if self.low is not None and measure < self.low:
            raise Invalid(f"is below {self.low}")
        if self.high is not None and measure > self.high:
            raise Invalid(f"is above {self.high}")


class String(Bounded):
    """low and high bound the length."""

    def check(self, value, store):
        if not isinstance(value, str):
            raise Invalid("must be a string")
        self.within(len(value))
        return value


class Integer(Bounded):
    def check(self, value, store):
        if isinstance(value, float) and value.is_integer():
            value = int(value)          # 1e2 has no fraction either
        if type(value) is not int:      # bool is a subclass of int
            raise Invalid("must be an integer")
        self.within(value)
        return value


class Float(Bounded):
    def check(self, value, store):
        if type(value) not in (int, float):
            raise Invalid("must be a number")
        try:
            value = float(value)
        except OverflowError:
            raise Invalid("is too large") from None
        if not isfinite(value):
            raise Invalid("is too large")
        self.within(value)
        return value


class Boolean(Field):
    def check(self, value, store):
        if not isinstance(value, bool):
            raise Invalid("must be true or false")
        return value


class Datetime(Bounded):
    FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} "
                      r"[0-9]{2}:[0-9]{2}:[0-9]{2}")

    def check(self, value, store):
        if not isinstance(value, str) or not self.FORM.fullmatch(value):
            raise Invalid("must have the form YYYY-MM-DD hh:mm:ss")
        try:
            datetime(*map(int, re.split("[- :]", value)))
        except ValueError as problem:
            raise Invalid(f"is no point in time: {problem}") from None
        self.within(value)
        return value


class Enum(Field):
    def __init__(self, *values, **kw):
        super().__init__(**kw)
        self.values = values

    def check(self, value, store):
        if not isinstance(value, str) or value not in self.values:
            raise Invalid("must be one of " + ", ".join(self.values))
        return value


class Reference(Field):
    def __init__(self, entity, required=False):
        super().__init__(required=required, nullable=True)
        self.entity = entity

    def check(self, value, store):
        if not isinstance(value, str):
            raise Invalid("must be an id or null")
        if not store.exists(self.entity, value):
            raise Invalid(f"refers to an unknown {self.entity}")
        return value

    def without(self, value, gone):
        return None if value == gone else value


class ReferenceList(Field):
    def __init__(self, entity, required=False):
        super().__init__(required=required)
        self.entity = entity

    def when_left_out(self):
        return []

    def check(self, value, store):
        if not isinstance(value, list):
            raise Invalid("must be an array of ids")
        for item in value:
            if not isinstance(item, str):
                raise Invalid("must hold nothing but ids")
            if not store.exists(self.entity, item):
                raise Invalid(f"refers to an unknown {self.entity}")
        return list(value)

    def without(self, value, gone):
        return [item for item in value if item != gone]
