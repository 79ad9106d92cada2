"""Plays a harness against the scripted model, in its real image, and looks at what came of it: the proof of an adapter, and of a new version of its CLI.

Two turns show that it works at all (``stamina run --harness-check NAME``); six turns put it through what real runs bring: a mistake that feedback repairs, a
provider that fails, a CLI that its own agent kills, a conversation that grows too long (``make test-harnesses``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import attrs

from actors.gateway.scripted import LEDGER
from actors.observer import Observer
from harnesses.failures import Failure
from harnesses.registry import HARNESSES
from harnesses.scripted_model.purpose import Purpose
from scenario_store.folder import ScenarioFolder
from scenario_store.journal import read_journal
from scenario_store.run import Run
from scenario_store.usage import read_requests
from stamina.cli.places import check_place
from stamina.cli.playing import lock_of, play_run
from stamina.config.dump import resolved
from stamina.config.load import parse
from stamina.config.plan import plan as plan_of
from stamina.turns import CallCompleted, CallFailed, Event, HarnessSeen, SuiteRan
from stamina.usage import ModelRequest

MISTAKE, OUTAGE, KILL, FULL = 2, 3, 4, 5
"""The turns of the long play in which something is wrong."""

SHORT, LONG = 1, 5
"""The last turn of the short and of the long play."""

WINDOW: Final = 200_000
TRIES: Final = 3
"""How often the gateway asks before it tells a CLI of an error: so many errors make one for the CLI."""


class Behaviour(StrEnum):
    """What is looked at; the words are the table's."""

    PLAYS = "plays its turns"
    VERSION = "version is known"
    COMPLETES = "every call ends with evidence"
    CONTINUES = "one conversation"
    USAGE = "usage is the model's own count"
    TOOLS = "trajectory has every tool call"
    EVENTS = "every event is known"
    REPAIRS = "repairs after feedback"
    PROVIDER = "survives status 500"
    KILLED = "goes on after it was killed"
    COMPACTS = "compacts and goes on"


@attrs.frozen
class Finding:
    """What was seen of one behaviour: whether it is as it should be, and one line for the table."""

    behaviour: Behaviour
    right: bool
    detail: str


def sweep_text(harness: str, last: int) -> str:
    """The sweep file that is played."""
    return f"""\
[sweep]
name = "harness-check"
seeds = "1"
turns = {last}
retries = 1
infra_retries = 3
call_seconds = 600

[[agent]]
harness = {json.dumps(harness)}
name = {json.dumps(harness)}
model = "scripted"

[model.scripted]
provider = "scripted"
id = "scripted-1"
context_window = {WINDOW}
{_script() if last == LONG else ""}"""


def _script() -> str:
    return f"""
[model.scripted.script]
mistake_turns = [{MISTAKE}]
mistakes = ["null-accepted", "required-ignored", "change-forgotten"]
fix_chance = 1.0

[[model.scripted.script.failures]]
kind = "server-error"
turn = {OUTAGE}
request = 1
times = {TRIES}
work_only = true

[[model.scripted.script.failures]]
kind = "kill"
turn = {KILL}
call = 0
request = 1
times = 1

[[model.scripted.script.failures]]
kind = "full"
turn = {FULL}
request = 1
times = 1
"""


def play(harness: str, out: Path, observe: Observer, *, last: int = SHORT, overrides: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Play, into a new run folder, and say what was seen. ``overrides`` are as for ``stamina run --set``.

    Raises:
        InputError: there is no such harness, it runs no model, or its image is not there.
        KeyboardInterrupt: it was interrupted.
    """
    text = sweep_text(harness, last)
    plan = plan_of(parse(text, "harness check", overrides, harnesses=HARNESSES))
    check_place(plan)
    run = Run.create(out.absolute(), resolved(text, overrides).encode(), lock_of(plan))
    with run.playing():
        end = play_run(run, plan, observe)
    if end.interrupted:
        raise KeyboardInterrupt  # half a play shows nothing, and must not look as if it did
    (folder,) = run.scenarios()
    return findings(Seen.of(folder), last)


@attrs.frozen
class Seen:
    """What a run left behind.

    Attributes:
        served: entries of the model's own ledger.
        requests: what the gateway counted.
        steps: of all calls, by (turn, attempt, call).
    """

    events: tuple[Event, ...]
    served: tuple[Mapping[str, Any], ...]
    requests: tuple[ModelRequest, ...]
    steps: Mapping[tuple[int, int, int], tuple[Mapping[str, Any], ...]]

    @classmethod
    def of(cls, folder: ScenarioFolder) -> Seen:
        """What a scenario's folder holds."""
        steps = {}
        for path in sorted((folder.path / "turns").glob("*/*/*/trajectory.jsonl")):
            lines = tuple(_lines(path))
            steps[lines[0]["turn"], lines[0]["attempt"], lines[0]["call"]] = lines
        events: tuple[Event, ...] = read_journal(folder.journal, Event).events
        return cls(events, tuple(_lines(folder.path / LEDGER)), tuple(read_requests(folder.path)), steps)

    def calls(self, kind: type[Any], turn: int) -> list[Any]:
        """The events of a kind in a turn."""
        return [event for event in self.events if isinstance(event, kind) and event.turn == turn]

    def suites(self, turn: int) -> list[bool]:
        """Which suite runs of a turn passed, in order."""
        return [event.ok for event in self.events if isinstance(event, SuiteRan) and event.turn == turn]

    def has(self, turn: int, step: str) -> bool:
        """Whether a turn's trajectories have such a step."""
        return any(each["step"] == step for at, lines in self.steps.items() if at[0] == turn for each in lines)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def findings(seen: Seen, last: int) -> tuple[Finding, ...]:
    """All behaviours that a play of this length shows."""
    found = [_plays(seen, last), _version(seen), _completes(seen), _continues(seen, last), _usage(seen), _tools(seen), _events(seen)]
    if last == LONG:
        found += [_repairs(seen), _provider(seen), _killed(seen), _compacts(seen)]
    return tuple(found)


def _plays(seen: Seen, last: int) -> Finding:
    passed = sum(any(seen.suites(turn)) for turn in range(last + 1))
    return Finding(Behaviour.PLAYS, passed == last + 1, f"{passed} of {last + 1} turns pass")


def _version(seen: Seen) -> Finding:
    versions = sorted({event.version for event in seen.events if isinstance(event, HarnessSeen)})
    return Finding(Behaviour.VERSION, len(versions) == 1, ", ".join(versions) or "none")


def _completes(seen: Seen) -> Finding:
    """Failures that the script made are none."""
    failed = [event for event in seen.events if isinstance(event, CallFailed) and event.turn not in (OUTAGE, KILL)]
    calls = sum(isinstance(event, CallCompleted) for event in seen.events)
    return Finding(Behaviour.COMPLETES, bool(calls) and not failed, f"{calls} calls" + "".join(f"; turn {event.turn}: {event.detail}" for event in failed[:1]))


def _continues(seen: Seen, last: int) -> Finding:
    """Marks of the model's answers come back; what is missing after a kill is looked at there."""
    sessions = {event.session for event in seen.events if isinstance(event, CallCompleted)}
    broken = [entry for entry in seen.served if entry["kept"]["broken"] or entry["kept"]["foreign"] or (entry["kept"]["missing"] and entry["turn"] != KILL)]
    where = "".join(f"; lost in turn {entry['turn']}: {entry['kept']}" for entry in broken[:1])
    return Finding(Behaviour.CONTINUES, not broken and len(sessions) == 1, f"{len(sessions)} session{'s' * (len(sessions) != 1)}{where}")


def _usage(seen: Seen) -> Finding:
    """Request by request. What was cut off in the middle has no count on either side."""
    ours = {request.number: request.usage for request in seen.requests if request.usage is not None and (request.usage.input or request.usage.output)}
    theirs = {entry["number"]: entry["count"] for entry in seen.served if entry["count"] and entry["whole"]}
    counted = {number: {"input": use.input, "output": use.output, "cached": use.cached, "written": use.cache_writes} for number, use in ours.items()}
    wrong = sorted(number for number in {*counted, *theirs} if counted.get(number) != theirs.get(number))
    return Finding(
        Behaviour.USAGE, bool(theirs) and not wrong, f"{len(theirs)} requests" + (f"; {len(wrong)} differ, the first is {wrong[0]}" if wrong else "")
    )


def _tools(seen: Seen) -> Finding:
    """Each answer that was served for work and called a tool; some CLIs want the last word as a call too."""
    wanted = Counter(
        (entry["turn"], entry["attempt"], entry["call"])
        for entry in seen.served
        if entry["purpose"] == Purpose.WORK.value and entry["status"] == 200 and entry["whole"] and entry["called"]
    )
    there = {at: sum(step["step"] == "tool_call" for step in lines) for at, lines in seen.steps.items()}
    lacking = {at: (there.get(at, 0), count) for at, count in wanted.items() if there.get(at, 0) != count}
    killed = lacking.pop((KILL, 0, 0), None)
    detail = f"{sum(there.values())} calls" + "".join(f"; turn {at[0]}: {has} of {count}" for at, (has, count) in list(lacking.items())[:1])
    if killed is not None:
        detail += "; not the one that was running when it was killed"
    return Finding(Behaviour.TOOLS, bool(there) and not lacking, detail)


def _events(seen: Seen) -> Finding:
    unknown = Counter[str]()
    for lines in seen.steps.values():
        unknown.update(lines[-1].get("unknown", {}))
    return Finding(Behaviour.EVENTS, not unknown, "all" if not unknown else ", ".join(f"{kind} ({count})" for kind, count in unknown.most_common(3)))


def _repairs(seen: Seen) -> Finding:
    suites = seen.suites(MISTAKE)
    return Finding(Behaviour.REPAIRS, suites == [False, True], "attempt 1 passes" if suites == [False, True] else f"suites: {suites}")


def _provider(seen: Seen) -> Finding:
    """It asks again by itself, or its call fails with cause ``provider`` and is repeated without costing an attempt."""
    failed, passed = seen.calls(CallFailed, OUTAGE), seen.suites(OUTAGE) == [True]
    if not failed:
        told = "tells of it" if seen.has(OUTAGE, "retry") else "tells nothing of it"
        return Finding(Behaviour.PROVIDER, passed, f"asks again by itself, {told}")
    right = passed and all(event.cause == "provider" for event in failed)
    return Finding(Behaviour.PROVIDER, right, f"gives up; the call is repeated ({failed[0].cause}: {failed[0].detail[:60]})")


def _killed(seen: Seen) -> Finding:
    failed = seen.calls(CallFailed, KILL)
    right = bool(failed) and failed[0].detail.startswith(Failure.SELF_KILL) and seen.suites(KILL) == [True]
    kept = [entry["kept"] for entry in seen.served if entry["turn"] == KILL and entry["call"] > 0]
    lost = any(entry["broken"] for entry in kept)
    missing = sum(entry["missing"] for entry in kept)
    remains = "session lost" if lost else f"session kept, without its last {missing} answers" if missing else "session kept whole"
    told = failed[0].detail[:60] if failed else "no call failed"
    return Finding(Behaviour.KILLED, right and not lost, f"{remains} ({told})")


def _compacts(seen: Seen) -> Finding:
    """A request for a summary went out, and its turn and all after it passed. A CLI that counts tokens itself may make one before others are forced to."""
    asked = sorted({entry["turn"] for entry in seen.served if entry["purpose"] == Purpose.SUMMARY.value})
    right = bool(asked) and all(any(seen.suites(turn)) for turn in range(asked[0], FULL + 1))
    when = "" if FULL in asked else f" in turn {', '.join(map(str, asked))}"
    told = "" if any(seen.has(turn, "compaction") for turn in asked) else ", tells nothing of it"
    return Finding(Behaviour.COMPACTS, right, f"summary asked for{when}{told}" if asked else "no summary asked for")


def table(rows: Mapping[str, Iterable[Finding]]) -> str:
    """Harness by behaviour, as Markdown: one table of marks, and below it what they rest on."""
    names = list(rows)
    found = {name: {finding.behaviour: finding for finding in findings} for name, findings in rows.items()}
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for behaviour in Behaviour:
        marks = [_mark(found[name].get(behaviour)) for name in names]
        lines.append(f"| {behaviour.value} | {' | '.join(marks)} |")
    lines.append("")
    lines += [
        f"* `{name}`: " + "; ".join(f"{behaviour.value}: {found[name][behaviour].detail}" for behaviour in Behaviour if behaviour in found[name])
        for name in names
    ]
    return "\n".join(lines) + "\n"


def _mark(finding: Finding | None) -> str:
    return "" if finding is None else "yes" if finding.right else "**no**"
