"""What all tests share."""

import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.outside import shut_out

shut_out()

# No deadlines: a slow moment of a shared machine is no fault of the code, and what must be fast is measured under scripts/bench.
# Derandomised: the same run on every machine; a wider search is `pytest --hypothesis-seed=random --hypothesis-profile=wide`.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("wide", deadline=None, max_examples=1000)
settings.load_profile("default")


def pytest_configure() -> None:
    """Start what is started as a terminal would: a shell without job control has what it puts in the background ignore Ctrl-C, and children inherit that."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where an engine is required, a test of it that is skipped has failed."""
    report = yield
    if report.skipped and os.environ.get("STAMINA_REQUIRE_DOCKER") == "1" and item.get_closest_marker("docker") is not None:
        report.outcome = "failed"
    return report
