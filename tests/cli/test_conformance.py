"""What is looked at in a play of a harness: each fault is found where it is, and nowhere else. tests/docker/test_harnesses.py plays real ones."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from stamina.cli.conformance import FULL, KILL, LONG, MISTAKE, OUTAGE, Behaviour, Finding, Seen, findings, table
from stamina.outcome import Cause
from stamina.turns import CallCompleted, CallFailed, Event, HarnessSeen, SuiteRan
from stamina.usage import How, ModelRequest, Usage

KEPT = {"broken": False, "missing": 0, "foreign": 0}


def served(number: int, turn: int, attempt: int = 0, call: int = 0, **members: Any) -> dict[str, Any]:
    """One answer of the scripted model."""
    usual = {"purpose": "work", "status": 200, "whole": True, "kept": KEPT, "count": {"input": 10, "output": 2, "cached": 0, "written": 0}}
    return {"number": number, "turn": turn, "attempt": attempt, "call": call, **usual, **members}


def counted(number: int, turn: int, tokens: int = 10) -> ModelRequest:
    return ModelRequest(turn, 0, 0, number, "chat", "m", How.ANSWERED, 200, Usage(tokens, 2), 0.0, 1.0)


def good() -> Seen:
    """A play in which all is as it should be: two answers a call, one that calls a tool and a last word."""
    places = [(turn, 0, 0) for turn in range(LONG + 1)]
    places.insert(MISTAKE + 1, (MISTAKE, 1, 0))
    events: list[Event] = [HarnessSeen(0, "toy", "1.0")]
    answers, requests, steps = [], [], {}
    for turn, attempt, call in places:
        at = (turn, attempt, call)
        if turn == KILL:
            events.append(CallFailed(*at, 1.0, Cause.HARNESS, "self-kill: ended by SIGKILL", "s"))
            at = (turn, attempt, 1)
        events += [CallCompleted(*at, 1.0, "s"), SuiteRan(turn, attempt, 0 if (turn, attempt) == (MISTAKE, 0) else 1, 1)]
        for called in (True, False):
            requests.append(counted(len(answers), turn))
            answers.append(served(len(answers), *at, called=called))
        end = {"step": "end", "unknown": {}}
        steps[at] = ({"step": "begin"}, {"step": "tool_call"}, *([{"step": "compaction"}] if turn == FULL else []), end)
    requests.append(counted(len(answers), FULL))
    answers.append(served(len(answers), FULL, purpose="summary"))
    return Seen(tuple(events), tuple(answers), tuple(requests), steps)


def wrong(seen: Seen) -> set[Behaviour]:
    return {finding.behaviour for finding in findings(seen, LONG) if not finding.right}


def test_a_good_play_has_nothing_wrong() -> None:
    assert wrong(good()) == set()
    assert [finding.behaviour for finding in findings(good(), LONG)] == list(Behaviour)


def _without(seen: Seen, kind: type[Any], turn: int) -> Seen:
    return attrs.evolve(seen, events=tuple(event for event in seen.events if not (isinstance(event, kind) and event.turn == turn)))


def _served(seen: Seen, number: int, **members: Any) -> Seen:
    return attrs.evolve(seen, served=tuple({**entry, **members} if entry["number"] == number else entry for entry in seen.served))


def _more(seen: Seen, event: Event) -> Seen:
    return attrs.evolve(seen, events=(*seen.events, event))


def _steps(seen: Seen, *lines: dict[str, Any]) -> Seen:
    """With another trajectory in turn 1."""
    return attrs.evolve(seen, steps={**seen.steps, (1, 0, 0): ({"step": "begin"}, *lines)})


def _all_pass(seen: Seen) -> Seen:
    return attrs.evolve(seen, events=tuple(attrs.evolve(event, passed=1) if isinstance(event, SuiteRan) else event for event in seen.events))


def _failed(turn: int, call: int) -> CallFailed:
    return CallFailed(turn, 0, call, 1.0, Cause.HARNESS, "x")


END, CALL = {"step": "end", "unknown": {}}, {"step": "tool_call"}
FAULTS = [
    ("a turn that does not pass", lambda seen: _without(seen, SuiteRan, 1), {Behaviour.PLAYS}),
    ("no version", lambda seen: _without(seen, HarnessSeen, 0), {Behaviour.VERSION}),
    ("a call that fails", lambda seen: _more(seen, _failed(1, 1)), {Behaviour.COMPLETES}),
    ("a lost session", lambda seen: _served(seen, 2, kept={**KEPT, "broken": True}), {Behaviour.CONTINUES}),
    ("another session", lambda seen: _more(seen, CallCompleted(FULL, 0, 1, 1.0, "t")), {Behaviour.CONTINUES}),
    ("a wrong count", lambda seen: attrs.evolve(seen, requests=(counted(0, 0, 11), *seen.requests[1:])), {Behaviour.USAGE}),
    ("a request that nobody counted", lambda seen: attrs.evolve(seen, requests=seen.requests[1:]), {Behaviour.USAGE}),
    ("a tool call that is not told", lambda seen: _steps(seen, END), {Behaviour.TOOLS}),
    ("a tool call that nobody made", lambda seen: _steps(seen, CALL, CALL, END), {Behaviour.TOOLS}),
    ("an unknown event", lambda seen: _steps(seen, CALL, {"step": "end", "unknown": {"x": 1}}), {Behaviour.EVENTS}),
    ("no failure where the CLI was killed", lambda seen: _without(seen, CallFailed, KILL), {Behaviour.KILLED}),
    ("a provider's failure that is blamed on the harness", lambda seen: _more(seen, _failed(OUTAGE, 0)), {Behaviour.PROVIDER}),
    ("no summary", lambda seen: _served(seen, len(seen.served) - 1, purpose="title"), {Behaviour.COMPACTS}),
    ("a mistake that was none", _all_pass, {Behaviour.REPAIRS}),
]


@pytest.mark.parametrize(("fault", "behaviours"), [(fault, behaviours) for _, fault, behaviours in FAULTS], ids=[name for name, _, _ in FAULTS])
def test_each_fault_is_found_and_no_other(fault: Any, behaviours: set[Behaviour]) -> None:
    assert wrong(fault(good())) == behaviours


def test_the_table_says_yes_and_no() -> None:
    text = table({"toy": [Finding(Behaviour.PLAYS, True, "6 of 6"), Finding(Behaviour.USAGE, False, "1 differs")]})
    assert "| plays its turns | yes |" in text
    assert "| usage is the model's own count | **no** |" in text
    assert "`toy`: plays its turns: 6 of 6; usage is the model's own count: 1 differs" in text
