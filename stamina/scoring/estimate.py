"""A mean and how sure it is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import attrs


@attrs.frozen
class Estimate:
    """A mean over ``count`` scenarios; ``mean`` is None without any, ``se`` is None below two (contract T5)."""

    mean: float | None
    se: float | None
    count: int


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and standard error: the sample standard deviation (n - 1) over the root of n. The order of the values does not matter, to the last bit."""
    count = len(values)
    if count == 0:
        return Estimate(None, None, 0)
    se = statistics.stdev(values) / math.sqrt(count) if count > 1 else None
    return Estimate(math.fsum(values) / count, se, count)


def share(flags: Sequence[bool]) -> float | None:
    """The fraction that is true, None of nothing."""
    return sum(flags) / len(flags) if flags else None
