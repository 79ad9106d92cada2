"""The outage drill: a provider that is down for a minute in the middle of twenty scenarios. ``python -m tests.drills.outage`` plays it and prints what each
scenario recorded; ``make drill`` does the same.

The provider is a scripted model, the agents are small CLIs in processes of their own (or, with ``--harness``, real ones that are installed on this machine).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import attrs

from actors.gateway.scripted import LEDGER
from harnesses.scripted_model.ledger import due, read_line
from scenario_store.journal import read_journal
from scenario_store.outcomes import outcomes_from
from scenario_store.run import Run
from scenario_store.usage import read_requests
from stamina.cli.app import main as stamina
from stamina.turns import CallStarted, Event, SuiteRan
from tests.harnesses.mini_harness import offered


@attrs.frozen
class Drill:
    """What is played: the provider is down for so many ``seconds``, so long ``after`` its first request."""

    scenarios: int = 20
    turns: int = 4
    after: float = 20.0
    seconds: float = 60.0
    harness: str = "mini"
    concurrency: int = 6
    kind: str = "overloaded"


@attrs.frozen
class Row:
    """What one scenario recorded.

    Attributes:
        attempts, calls: graded attempts and agent calls in all its turns; as many as it has turns when nothing was consumed.
        failed: requests that its agent was told had failed.
        held: seconds that the gateway kept its requests waiting.
        agree: the gateway counted what the model served.
    """

    seed: int
    ending: str
    turns_passed: int
    attempts: int
    calls: int
    requests: int
    failed: int
    held: float
    agree: bool


@attrs.frozen
class Rows:
    """The whole drill; ``messages`` is how often somebody was told that the provider is down."""

    scenarios: tuple[Row, ...]
    messages: int


def sweep_file(drill: Drill) -> str:
    """The sweep."""
    return f"""\
[sweep]
name = "outage"
seeds = "0-{drill.scenarios - 1}"
turns = {drill.turns}
retries = 0
concurrency = {drill.concurrency}

[sandbox]
engine = "process"
allow_unsandboxed = true

[[agent]]
harness = "{drill.harness}"
model = "coder"

[model.coder]
provider = "scripted"
id = "scripted-1"
context_window = 200000

[[model.coder.script.failures]]
kind = "{drill.kind}"
after_seconds = {drill.after}
for_seconds = {drill.seconds}
"""


def run_drill(drill: Drill, root: Path) -> Rows:
    """Play it in a new folder."""
    root.mkdir(parents=True)
    (root / "outage.toml").write_text(sweep_file(drill))
    with offered():
        stamina(["run", str(root / "outage.toml"), "--out", str(root / "run")])
    run = Run.open(root / "run")
    endings = {played.outcome.seed: played.outcome for played in outcomes_from(run)}
    down = [line for line in (root / "run" / "log.jsonl").read_text().splitlines() if '"model down"' in line]
    rows = []
    for folder in run.scenarios():
        outcome = endings[folder.seed]
        events = list(read_journal(folder.path / "journal.jsonl", Event).events)
        requests = list(read_requests(folder.path))
        served = due(read_line(line) for line in (folder.path / LEDGER).read_text().splitlines())
        counted = {request.number: None if request.usage is None else (request.usage.input, request.usage.output) for request in requests}
        rows.append(
            Row(
                seed=folder.seed,
                ending=outcome.ending.value,
                turns_passed=sum(turn.passed for turn in outcome.turns),
                attempts=sum(isinstance(event, SuiteRan) for event in events),
                calls=sum(isinstance(event, CallStarted) for event in events),
                requests=len(requests),
                failed=sum((request.status or 0) >= 500 for request in requests),
                held=sum(request.held for request in requests),
                agree=counted == {number: None if count is None else (count.input, count.output) for (_, number), count in served.items()},
            )
        )
    return Rows(tuple(rows), len(down))


def told(drill: Drill, rows: Rows) -> str:
    """The table, and what to make of it."""
    lines = ["seed  ending     turns passed  attempts  calls  requests  failed for the agent  held (s)  usage agrees"]
    lines += [
        f"{row.seed:4}  {row.ending:9}  {row.turns_passed:12}  {row.attempts:8}  {row.calls:5}  {row.requests:8}  {row.failed:20}  {row.held:8.1f}  {row.agree}"
        for row in rows.scenarios
    ]
    turns = drill.turns + 1
    whole = sum((row.ending, row.turns_passed, row.attempts, row.calls) == ("completed", turns, turns, turns) for row in rows.scenarios)
    lines.append(f"{whole} of {len(rows.scenarios)} scenarios passed every turn with one attempt and one call each; {rows.messages} message(s) of an outage")
    return "\n".join(lines)


def main() -> int:
    """Play the drill; 0 when nobody lost anything by the outage."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.outage", description=__doc__)
    for field in attrs.fields(Drill):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    drill = Drill(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
        rows = run_drill(drill, Path(root) / "drill")
    print(told(drill, rows))
    turns = drill.turns + 1
    good = all((row.ending, row.attempts, row.calls, row.agree) == ("completed", turns, turns, True) for row in rows.scenarios)
    return 0 if good and rows.messages == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
