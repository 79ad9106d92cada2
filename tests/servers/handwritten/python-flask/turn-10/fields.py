"""Field kinds. Each one says which non-null values it takes."""
import math
import re
from datetime import datetime


class BadInput(Exception):
    pass


MISSING = object()


class Field:
    is_list = False
    target = None

    def __init__(self, *, required=False, nullable=False, default=MISSING,
                 low=None, high=None):
        self.required = required
        self.nullable = nullable
        self.default = default
        self.low = low
        self.high = high

    def accept(self, value, store):
        """Check a value a client sent and return what is to be stored."""
        if value is None:
            if not self.nullable:
                raise BadInput("must not be null")
            return None
        value = self.convert(value, store)
        size = self.measure(value)
        if self.low is not None and size < self.low:
            raise BadInput(f"below {self.low}")
        if self.high is not None and size > self.high:
            raise BadInput(f"above {self.high}")
        return value

    def when_left_out(self):
        if self.default is not MISSING:
            return self.default
        if self.required:
            raise BadInput("is required")
        return None

    def convert(self, value, store):
        raise NotImplementedError

    def measure(self, value):
        return value


class String(Field):
    def convert(self, value, store):
        if not isinstance(value, str):
            raise BadInput("must be a string")
        return value

    def measure(self, value):
        return len(value)


class Float(Field):
    def convert(self, value, store):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BadInput("must be a number")
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise BadInput("is no 64-bit double")
        return value


class Integer(Float):
    def convert(self, value, store):
        value = super().convert(value, store)
        if value != int(value):
            raise BadInput("must be an integer")
        return int(value)


class Boolean(Field):
    def convert(self, value, store):
        if not isinstance(value, bool):
            raise BadInput("must be a boolean")
        return value


class DateTime(Field):
    SHAPE = re.compile(
        r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})")

    def convert(self, value, store):
        match = self.SHAPE.fullmatch(value) if isinstance(value, str) else None
        if not match:
            raise BadInput("must look like YYYY-MM-DD hh:mm:ss")
        try:
            datetime(*map(int, match.groups()))
        except ValueError:
            raise BadInput("is not in the calendar") from None
        return value


class Enum(Field):
    def __init__(self, *values, **kw):
        super().__init__(**kw)
        self.values = values

    def convert(self, value, store):
        if not isinstance(value, str) or value not in self.values:
            raise BadInput("must be one of " + ", ".join(self.values))
        return value


class Ref(Field):
    def __init__(self, target, *, required=False):
        super().__init__(required=required, nullable=True)
        self.target = target

    def convert(self, value, store):
        if not isinstance(value, str):
            raise BadInput("must be an id")
        if value not in store[self.target]:
            raise BadInput(f"no {self.target} has the id {value!r}")
        return value


class RefList(Ref):
    is_list = True

    def __init__(self, target, *, required=False):
        super().__init__(target, required=required)
        self.nullable = False

    def convert(self, value, store):
        if not isinstance(value, list):
            raise BadInput("must be a list of ids")
        one = super().convert
        return [one(v, store) for v in value]

    def when_left_out(self):
        return []
