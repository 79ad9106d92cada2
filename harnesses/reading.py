"""From a CLI's output to a report: what all adapters share.

An adapter brings a :class:`Reading`, which is fed with the output's events in order, makes steps of them and notes how the run ended. :func:`read_call` does
the rest: it survives any output, counts what nobody knows, and weighs exit code, signal, final event and the CLI's last words.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from harnesses.failures import Failure, failure_in
from harnesses.harness import IDLE, CallContext, CallEnd, CallReport
from harnesses.jsonlines import Flaw, last_line, read_lines, tail
from harnesses.trajectory import Message, Note, Role, Step, Trouble

Steps: TypeAlias = Iterable[Step] | None
"""What an event adds to the trajectory; None for an event that is not known."""

KILLED: Final = (128 + signal.SIGKILL, 128 + signal.SIGTERM)
"""What a launcher exits with when its child was ended by a signal."""

_MOST_UNKNOWN: Final = 100
"""Kinds of unknown events that are counted one by one; a hostile agent may make up any number."""


@attrs.define
class Reading:
    """What one call's output says. A subclass has a method ``on_KIND`` for each kind of event (``item.completed`` is ``on_item_completed``).

    Attributes:
        session: the CLI's session; at first the one that it was told to continue.
        finished: it said that its work is done.
        failure, detail: what it said went wrong, None when nothing did.
    """

    session: str | None = None
    finished: bool = False
    failure: Failure | None = None
    detail: str = ""

    QUIET: ClassVar[frozenset[str]] = frozenset()
    """Kinds of events that are known and add nothing."""

    def kind(self, event: Mapping[str, Any]) -> str:
        """What kind of event it is."""
        return str(event.get("type", ""))

    def event(self, event: Mapping[str, Any]) -> Steps:
        """The next event."""
        kind = self.kind(event)
        if kind in self.QUIET:
            return ()
        handler = getattr(self, f"on_{re.sub(r'[^a-z0-9]+', '_', kind.lower())}", None) if kind else None
        return None if handler is None else handler(event)

    def text(self, line: str) -> Steps:
        """The next line that is no event."""
        return ()

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """After the last line; ``complaints`` is the end of stderr. For CLIs that tell the rest there, by their exit code, or nowhere else."""
        return ()

    def fail(self, kind: Failure, detail: str) -> list[Step]:
        """Note a failure; the last one counts."""
        self.failure, self.detail = kind, detail
        return [Trouble(kind, detail)]

    def fail_of(self, detail: str, otherwise: Failure = Failure.CRASH) -> list[Step]:
        """Note a failure that only the CLI's words tell."""
        return self.fail(failure_in(detail) or otherwise, detail)

    def succeed(self) -> None:
        """It says that it has finished; what failed before was overcome."""
        self.finished, self.failure, self.detail = True, None, ""


def read_call(reading: Reading, context: CallContext, end: CallEnd, *, keeps_prompt: bool) -> CallReport:
    """What became of a call. ``keeps_prompt``: the CLI's session still holds the prompt of a call that failed."""
    before = context.session
    steps: list[Step] = [Message(context.prompt, Role.USER)]
    if context.call and before is not None and keeps_prompt:
        steps.append(Note("this call repeats one that failed, whose prompt the session may hold already: the model can see it twice"))
    unknown, flaws = _feed(reading, end, steps)
    complaints = tail(end.stderr)
    steps += _safely(lambda: reading.ended(end, complaints)) or ()
    if before is not None and reading.session not in (before, None):
        steps.append(Note(f"asked to continue session {before}, it has continued as {reading.session}"))
    failure, detail = _conclude(reading, end, complaints)
    if failure is not None and not (reading.failure is failure and reading.detail == detail):
        steps.append(Trouble(failure, detail))
    lost = failure is Failure.SESSION
    if lost:
        steps.append(Note(f"session {before} is lost: the next call begins a new one"))
    session = None if lost else reading.session
    told = detail if failure is None else f"{failure}: {detail}"
    return CallReport(failure is None, None if failure is None else failure.cause, told, session, failure, tuple(steps), unknown, flaws)


def _feed(reading: Reading, end: CallEnd, steps: list[Step]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """All lines, in order; what is not known is counted by kind."""
    unknown: Counter[str] = Counter()
    flaws: Counter[str] = Counter()
    for line in read_lines(end.stdout):
        event = line.event
        if event is None:
            flaws[line.flaw or Flaw.TEXT] += 1
            steps += _safely(lambda text=line.text: reading.text(text)) or ()
            continue
        found = _safely(lambda event=event: reading.event(event))
        if found is None:
            kind = reading.kind(event)[:80] or "(no type)"
            unknown[kind if kind in unknown or len(unknown) < _MOST_UNKNOWN else "(others)"] += 1
        else:
            steps += found
    return dict(unknown), dict(flaws)


def _safely(read: Any) -> list[Step] | None:
    """An event that looks unlike what the adapter knows is an unknown one, whatever is wrong with it."""
    try:
        found = read()
        return None if found is None else list(found)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _conclude(reading: Reading, end: CallEnd, complaints: str) -> tuple[Failure | None, str]:
    """Why a call did not complete; None when it did. What the CLI said goes first, unless a signal had the last word."""
    words = last_line(complaints) or "nothing on stderr"
    if end.expired is not None:
        waited = f"after {end.seconds:.0f} s ({end.expired}{f': {IDLE[end.expired]}' if end.expired in IDLE else ''})"
        return (None, f"it had finished, but did not end, and was ended {waited}") if reading.finished else (Failure.WEDGE, f"ended {waited}")
    if end.signal is not None:
        return Failure.SELF_KILL, f"ended by {_signal_name(end.signal)}, which we did not send"
    if end.exit_code in KILLED:
        return Failure.SELF_KILL, f"exit code {end.exit_code}: a signal that we did not send ended it"
    if reading.failure is not None:
        return reading.failure, reading.detail
    if end.exit_code == 127:
        return Failure.START, f"exit code 127: {words}"
    if end.exit_code != 0:
        return failure_in(words) or Failure.CRASH, f"exit code {end.exit_code}: {words}"
    if end.truncated and not reading.finished:
        return None, "exit code 0; its output was too long to be kept, so its last words are not known"
    return (None, "") if reading.finished else (Failure.CRASH, "exit code 0, but nothing says that it had finished")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
