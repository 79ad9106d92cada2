"""The model: a request's bytes in, an answer's bytes and the ledger's entry out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import attrs

from harnesses.scripted_model.answer import Answer, Count, ToolCall, tokens_in
from harnesses.scripted_model.coder import Coder, Place, Run
from harnesses.scripted_model.commands import dawdle
from harnesses.scripted_model.continuity import Continuity, Kept
from harnesses.scripted_model.conversation import BadConversation, Conversation, Role, table
from harnesses.scripted_model.failing import OF_ANSWERS, Failing, Occasion
from harnesses.scripted_model.ledger import Scenario, Served
from harnesses.scripted_model.prompts import latest
from harnesses.scripted_model.purpose import Purpose, purpose_of, side_answer
from harnesses.scripted_model.shells import call, closing, shell_of, suicide
from harnesses.scripted_model.speech import SPEECHES, Speech
from harnesses.scripted_model.speech.framing import error
from stamina.config.model import ModelConfig
from stamina.config.script import FailureConfig, ModelFailure
from stamina.protocols import Protocol

FULL: Final = 0.96
"""Share of the window that a request is said to have filled."""

JSON: Final = (("content-type", "application/json"),)
EVENTS: Final = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


@attrs.frozen
class Asked:
    """A request.

    Attributes:
        scenario: whose; ``place`` is where in it.
        number: counts the requests of the scenario.
        counts: it asks how many tokens it has, and for no answer.
        stream: events are asked for, or (for Gemini) parts.
        framed: as server-sent events.
        now: seconds since any fixed time.
    """

    scenario: Scenario
    place: Place
    number: int
    protocol: Protocol
    body: bytes
    counts: bool = False
    stream: bool = False
    framed: bool = True
    now: float = 0.0


class Ending(StrEnum):
    """What comes after the pieces of an answer."""

    WHOLE = "whole"
    CUT = "cut"
    SILENCE = "silence"


@attrs.frozen
class Said:
    """An answer.

    Attributes:
        status: None when there is no answer, not even a head.
        pieces: of the body.
        served: for the ledger; whoever hands the answer on completes it with :meth:`ScriptedModel.delivered`.
        mark: number of the answer's mark, None when it has none.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[bytes, ...]
    ending: Ending
    served: Served
    mark: int | None = None


@attrs.define
class _Scenario:
    """What is known of one scenario."""

    coder: Coder
    continuity: Continuity
    prefix: tuple[tuple[str, int], ...] = ()
    place: Place | None = None
    works: list[int] = attrs.field(factory=list)
    tries: dict[int, int] = attrs.field(factory=dict)

    def come_to(self, place: Place) -> None:
        """A new agent call begins with the first request that comes from it."""
        if place != self.place:
            self.place, self.works, self.tries = place, [], {}

    def ordinal(self, number: int, purpose: Purpose) -> int:
        """How many requests for work came before this one in the call."""
        if purpose is Purpose.WORK and number not in self.works:
            self.works.append(number)
        return self.works.index(number) if number in self.works else len(self.works)

    def tried(self, number: int) -> int:
        """How often this request was tried before."""
        self.tries[number] = self.tries.get(number, -1) + 1
        return self.tries[number]


@attrs.define
class ScriptedModel:
    """One model of a sweep file; see the package. One object serves all scenarios.

    Attributes:
        keep: takes each entry of the ledger once it is complete.
    """

    config: ModelConfig
    keep: Callable[[Served], None]
    _failing: Failing = attrs.field(init=False)
    _scenarios: dict[Scenario, _Scenario] = attrs.field(factory=dict, init=False)
    _since: float | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._failing = Failing(self.config.script)

    def respond(self, asked: Asked) -> Said:
        """Answer a request."""
        self._since = asked.now if self._since is None else self._since
        speech = SPEECHES[asked.protocol]
        scenario = self._scenario(asked)
        try:
            conversation = attrs.evolve(speech.read(table(json.loads(asked.body), "the body")), stream=asked.stream)
        except (ValueError, AttributeError, TypeError) as problem:
            message = str(problem) if isinstance(problem, BadConversation) else "the body is not what this protocol says"
            return self._refused(asked, 400, message, self._entry(asked, Purpose.OTHER))
        purpose = Purpose.COUNT if asked.counts else purpose_of(conversation)
        count = _counted(scenario.prefix if purpose is Purpose.WORK else (), conversation)
        return self._respond(asked, speech, conversation, purpose, count)

    def delivered(self, said: Said) -> None:
        """All of an answer was taken."""
        served = attrs.evolve(said.served, whole=True)
        if said.mark is not None:
            self._scenarios[served.scenario].continuity.delivered(said.mark, summary=served.purpose == Purpose.SUMMARY.value)
        self.keep(served)

    def abandoned(self, said: Said) -> None:
        """Not all of it was."""
        self.keep(said.served)

    def _scenario(self, asked: Asked) -> _Scenario:
        if asked.scenario not in self._scenarios:
            self._scenarios[asked.scenario] = _Scenario(Coder(self.config.script), Continuity.of(self.config.name, *asked.scenario))
        found = self._scenarios[asked.scenario]
        found.come_to(asked.place)
        return found

    def _respond(self, asked: Asked, speech: Speech, conversation: Conversation, purpose: Purpose, count: Count) -> Said:
        scenario = self._scenario(asked)
        ordinal, tries = scenario.ordinal(asked.number, purpose), scenario.tried(asked.number)
        kept = _kept(scenario.continuity, conversation) if purpose is Purpose.WORK and tries == 0 else Kept()
        entry = attrs.evolve(self._entry(asked, purpose), kept=kept)
        answer, trouble = self._answer(scenario, asked, conversation, purpose, count)
        now = asked.now - (self._since or 0.0)
        occasion = Occasion(scenario.continuity.nonce, asked.place, purpose, ordinal, asked.number, tries, answer.call is not None, now)
        failure = self._failing.strike(occasion)
        if failure is not None:
            entry = attrs.evolve(entry, failure=failure.kind)
            if failure.kind not in OF_ANSWERS:
                return self._failed(failure, asked, speech, count, entry)
            answer = _complete(_spoiled(answer, failure, conversation))
            if failure.kind is ModelFailure.FULL:
                answer = attrs.evolve(answer, count=attrs.evolve(answer.count, input=max(count.input, round(FULL * self.config.context_window))))
        if count.input > self.config.context_window and purpose is not Purpose.COUNT:
            return self._too_long(speech, count, entry)
        if purpose is Purpose.COUNT:
            return Said(200, JSON, (_json(speech.counted(count)),), Ending.WHOLE, attrs.evolve(entry, status=200))
        if purpose is Purpose.WORK:
            scenario.prefix = _hashes(conversation)
        return self._said(asked, speech, conversation, answer, attrs.evolve(entry, trouble=trouble))

    def _answer(self, scenario: _Scenario, asked: Asked, conversation: Conversation, purpose: Purpose, count: Count) -> tuple[Answer, str]:
        """What a good day gives, and why the work is not done, if so."""
        number, mark = scenario.continuity.next()
        name = f"{scenario.continuity.nonce}{number:06d}"
        model = conversation.model or self.config.id
        if purpose is not Purpose.WORK:
            work = scenario.coder.work
            task = None if work is None or work.end is not None else work.prompt
            text = "" if purpose is Purpose.COUNT else side_answer(purpose, conversation, task, mark)
            return _complete(Answer(name, text, None, count, model)), ""
        move = scenario.coder.move(conversation, asked.place)
        if isinstance(move, Run):
            shell = shell_of(conversation.tools)
            assert shell is not None, "work is what comes with a shell"
            return _complete(Answer(name, f"{move.text} {mark}", call(shell, move.command), count, model)), ""
        last = closing(conversation)
        return _complete(Answer(name, f"{move.text} {mark}", last, count, model)), move.trouble

    def _said(self, asked: Asked, speech: Speech, conversation: Conversation, answer: Answer, entry: Served) -> Said:
        if asked.stream and asked.framed:
            pieces = tuple(speech.events(answer, wants_usage=conversation.wants_usage))
            counted = answer.count if conversation.wants_usage else None
        else:
            body = speech.whole(answer)
            pieces, counted = (_json([body] if asked.stream else body),), answer.count
        entry = attrs.evolve(entry, status=200, count=counted, called=answer.call is not None)
        mark = int(answer.id[8:]) if "[ref " in answer.text else None
        ending = {ModelFailure.CUT: Ending.CUT, ModelFailure.STALL: Ending.SILENCE}.get(entry.failure or ModelFailure.EMPTY, Ending.WHOLE)
        if ending is not Ending.WHOLE:
            pieces = pieces[: len(pieces) // 2] if len(pieces) > 1 else (pieces[0][: len(pieces[0]) // 2],)
        return Said(200, EVENTS if asked.stream and asked.framed else JSON, pieces, ending, entry, mark)

    def _failed(self, failure: FailureConfig, asked: Asked, speech: Speech, count: Count, entry: Served) -> Said:
        """A failure that is no answer of the model's."""
        match failure.kind:
            case ModelFailure.HANG:
                return Said(None, (), (), Ending.SILENCE, entry)
            case ModelFailure.NO_CONNECTION:
                return Said(None, (), (), Ending.CUT, entry)
            case ModelFailure.CONTEXT_LENGTH:
                return self._too_long(speech, attrs.evolve(count, input=max(count.input, self.config.context_window + 1)), entry)
            case ModelFailure.TOO_MANY:
                wait = (("retry-after", f"{failure.retry_after:g}"),)
                return self._refused(asked, 429, "too many requests, as the script says", entry, wait)
            case ModelFailure.UNAUTHORIZED:
                return self._refused(asked, 401, "invalid credentials, as the script says", entry)
            case ModelFailure.OVERLOADED:
                return self._refused(asked, 529 if asked.protocol is Protocol.MESSAGES else 503, "overloaded, as the script says", entry)
            case _:
                return self._refused(asked, 500, "an internal error, as the script says", entry)

    def _refused(self, asked: Asked, status: int, message: str, entry: Served, more: tuple[tuple[str, str], ...] = ()) -> Said:
        body = _json(error(asked.protocol, status, message))
        return Said(status, (*JSON, *more), (body,), Ending.WHOLE, attrs.evolve(entry, status=status))

    def _too_long(self, speech: Speech, count: Count, entry: Served) -> Said:
        body = _json(speech.too_long(count.input, self.config.context_window))
        return Said(400, JSON, (body,), Ending.WHOLE, attrs.evolve(entry, status=400))

    def _entry(self, asked: Asked, purpose: Purpose) -> Served:
        at = asked.place
        return Served(
            asked.scenario, at.turn, at.attempt, at.call, asked.number, asked.protocol.value, purpose.value, asked.stream, status=None, failure=None, count=None
        )


def _kept(continuity: Continuity, conversation: Conversation) -> Kept:
    """What became of the marks. A session that begins with the first prompt of a scenario has nothing to keep."""
    prompt = latest(conversation)
    if prompt is not None and prompt.opens and not any(turn.role is Role.ASSISTANT for turn in conversation.turns):
        continuity.begin()
    return continuity.check(conversation)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _hashes(conversation: Conversation) -> tuple[tuple[str, int], ...]:
    """The parts of a request as a cache knows them, with their tokens."""
    return tuple((hashlib.sha256(chunk.encode("utf-8", "replace")).hexdigest(), tokens_in(chunk)) for chunk in conversation.chunks)


def _counted(before: tuple[tuple[str, int], ...], conversation: Conversation) -> Count:
    """What a request costs in input: what is as it was in the request before is cached; of the rest, all but the last part is written to the cache if the
    request marks what to cache."""
    now = _hashes(conversation)
    same = next((at for at, (old, new) in enumerate(zip(before, now, strict=False)) if old != new), min(len(before), len(now)))
    same = min(same, len(now) - 1)
    total = sum(tokens for _, tokens in now)
    cached = sum(tokens for _, tokens in now[: max(0, same)])
    written = sum(tokens for _, tokens in now[max(0, same) : -1]) if conversation.caches else 0
    return Count(total, cached=cached, written=written)


def _complete(answer: Answer) -> Answer:
    """With its output counted."""
    said = tokens_in(answer.text) + (tokens_in(answer.call.arguments) if answer.call else 0)
    return attrs.evolve(answer, count=attrs.evolve(answer.count, output=said))


def _spoiled(answer: Answer, failure: FailureConfig, conversation: Conversation) -> Answer:
    """The answer, with something wrong in it."""
    if failure.kind is ModelFailure.EMPTY:
        return attrs.evolve(answer, text="", call=None)
    shell = shell_of(conversation.tools)
    if answer.call is None or shell is None:
        return answer
    match failure.kind:
        case ModelFailure.MALFORMED_CALL:
            return attrs.evolve(answer, call=ToolCall(answer.call.name, answer.call.arguments[: len(answer.call.arguments) // 2]))
        case ModelFailure.WRONG_TOOL:
            return attrs.evolve(answer, call=ToolCall(f"no_such_{answer.call.name}", answer.call.arguments))
        case ModelFailure.KILL:
            return attrs.evolve(answer, call=suicide(shell))
        case ModelFailure.SLOW_COMMAND:
            return attrs.evolve(answer, call=call(shell, dawdle(failure.command_seconds)))
        case _:
            return answer
