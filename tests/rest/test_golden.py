"""Same seed, same bytes: digests recorded once hold on every Python (S1)."""

from tests.rest.golden import LONG, SHORT, current, recorded


def test_short_scenarios_are_as_recorded() -> None:
    """Turns 0 and 10 of a few seeds, with another sampler, a salt and another k among them."""
    now = current(SHORT, 10)
    assert now == {name: digests for name, digests in recorded().items() if name in now}


def test_a_long_scenario_is_as_recorded() -> None:
    """Turn 100, and every change on the way."""
    now = current(LONG, 100)
    assert now == {name: digests for name, digests in recorded().items() if name in now}
