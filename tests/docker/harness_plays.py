"""Long plays of harnesses, one each for all tests that look at them, and recordings that were made on another day or with another text."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from harnesses.recipes import names as images
from harnesses.registry import BUILT_IN, HARNESSES
from scenario_store.recording import Recording
from scenario_store.run import Run
from scenario_store.wire import NAME
from scenario_store.wire_writer import Piece, WireWriter
from stamina.cli.conformance import LONG, Finding, play
from stamina.cli.progress import plain

CLIS: Final = [entry.name for entry in BUILT_IN if HARNESSES[entry.name].uses_model and entry.name in images()]
CHOSEN: Final = os.environ.get("STAMINA_HARNESSES", "").split() or CLIS


def each(*names: str, together: bool = True) -> pytest.MarkDecorator:
    """A test for each harness that was chosen, of these if any are named; none is no test. ``together``: one worker has a harness, whose play is shared."""
    chosen = [name for name in CHOSEN if name in (names or CHOSEN)]
    return pytest.mark.parametrize("harness", [pytest.param(name, marks=[pytest.mark.xdist_group(name)] * together) for name in chosen])


SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "openhands": ('agent.0.args=["--compact-at", "60000"]',),  # it counts tokens itself, and does not believe the usage that says that its window is full
}
"""What is played with other settings than those of a sweep without any."""

DAYS: Final = ("%Y-%m-%d", "%a %b %d %Y", "%A, %B %d, %Y", "%m/%d/%Y")
"""How CLIs tell their model what day it is."""

Change = Callable[[bytes, datetime], bytes]
"""Makes another body of a request that was sent at that time."""


@attrs.frozen
class Play:
    """A harness's six turns: its run, and what was seen in it."""

    run: Path
    findings: tuple[Finding, ...]


@attrs.define
class Plays:
    """Made when they are first asked for."""

    root: Path
    _made: dict[str, Play] = attrs.field(factory=dict)

    def of(self, harness: str) -> Play:
        if harness not in self._made:
            run = self.root / harness / "run"
            self._made[harness] = Play(run, play(harness, run, plain, last=LONG, overrides=SETTINGS.get(harness, ())))
        return self._made[harness]


def on_another_day(body: bytes, at: datetime) -> bytes:
    """What the CLI would have sent weeks before."""
    for day in (at - timedelta(days=1), at, at + timedelta(days=1)):
        for form in DAYS:
            body = body.replace(day.strftime(form).encode(), (day - timedelta(days=40)).strftime(form).encode())
    return body


def instead(old: str, new: str) -> Change:
    """One text in place of another."""
    return lambda body, at: body.replace(old.encode(), new.encode())


def recorded_otherwise(run: Path, copy: Path, change: Change) -> int:
    """A copy of a run, as if its agents had asked something else; how many requests that changed."""
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("live"), symlinks=True)
    changed = 0
    for folder in Run.open(copy).scenarios():
        recording = Recording.read(folder.path)
        (folder.path / NAME).unlink()
        writer = WireWriter(folder.path / NAME, lambda part: part)
        for exchange in recording.exchanges:
            body = recording.body(exchange)
            other = change(body, datetime.fromtimestamp(exchange.head.at, UTC))
            changed += other != body
            answer = recording.answer(exchange)
            number = writer.request(exchange.head, other)
            writer.answer(number, [Piece(milliseconds / 1000, data) for milliseconds, data in answer.pieces], _facts(answer))
        writer.close()
    return changed


def _facts(answer: Any) -> Mapping[str, Any]:
    begun = {} if answer.status is None else {"status": answer.status, "headers": [list(pair) for pair in answer.headers]}
    return {**begun, **({} if answer.end is None else {"end": {**attrs.asdict(answer.end), "how": answer.end.how.value}})}
