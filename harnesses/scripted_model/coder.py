"""The coder: from what the conversation shows of the workspace to the next command, until the server is what the texts ask.

Each step follows from evidence in the conversation (a file's hash, a part of a file), so a command that failed, an answer that was lost and a conversation
that was summarised are nothing special: it looks again and goes on with what is missing. What it knows of the scenario is in its notes, a file in the
workspace: the texts that it was given. The notes are read back in parts when this process does not have them in its cache by their hash.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final, TypeAlias

import attrs

from harnesses.reference_agent.learning import take_in
from harnesses.reference_agent.mistakes import flawed_files
from harnesses.reference_agent.orders import Orders
from harnesses.reference_agent.session import Flaw, Session
from harnesses.reference_agent.text import Unreadable
from harnesses.scripted_model.commands import NOTES, SPECIFICATION, Look, Shown, Write, digest, look, packed, show, unpacked, writes
from harnesses.scripted_model.conversation import Conversation
from harnesses.scripted_model.prompts import Prompt, latest, prompt_in
from stamina.config.script import ScriptConfig
from stamina.draw import Draw

FILES: Final = ("server.py", "api.json", "run_server.sh")
STRIKES: Final = 8
"""How many outputs in one agent call may show nothing of what a command was to do, before it gives up."""

CACHED: Final = 6
"""Texts of a scenario that are remembered: its specification, and notes of its latest turns."""


@attrs.frozen
class Place:
    """Where in a scenario a request is; see :class:`stamina.turns.CallAgent`."""

    repeat: int = 0
    turn: int = 0
    attempt: int = 0
    call: int = 0


@attrs.frozen
class Run:
    """A command for the shell, and what it says beside it."""

    command: str
    text: str


@attrs.frozen
class Say:
    """The last word of an agent call; ``trouble`` is why the work was not done, empty when it was."""

    text: str
    trouble: str = ""


Move: TypeAlias = Run | Say


@attrs.define
class Work:
    """The work that one prompt asks for.

    Attributes:
        look: what the workspace held, None before it is known.
        read: what has come of the file that is being read.
        session: what it knows, with this prompt taken in; None before.
        plan: what is to be written, and how much of it is done.
        end: its last word, None before.
    """

    prompt: Prompt
    place: Place
    look: Look | None = None
    read: bytes = b""
    session: Session | None = None
    plan: list[Write] = attrs.field(factory=list)
    done: int = 0
    strikes: int = 0
    end: Say | None = None


@attrs.define
class Coder:
    """The coder of one scenario; see the module.

    Attributes:
        work: at hand, None before the first prompt.
        plain: whether texts are written as they are. Gemini CLI refuses commands with a backtick in them, also in a text that is to be written.
    """

    script: ScriptConfig
    work: Work | None = None
    plain: bool = True
    _texts: dict[str, str] = attrs.field(factory=dict)

    def move(self, conversation: Conversation, place: Place) -> Move:
        """What to do next."""
        self._take_up(conversation, place)
        work = self.work
        if work is None:
            return Say("There is nothing that I was asked to do.", "no prompt of the benchmark in the conversation")
        if work.end is None:
            try:
                self._look_at(work, conversation.results)
                return self._step(work)
            except Unreadable as error:
                work.end = Say(f"I cannot do this: {error}", str(error))
        return work.end

    def _take_up(self, conversation: Conversation, place: Place) -> None:
        """New work begins with a new agent call, or with a prompt that comes after the last word."""
        old = self.work
        if old is None or old.place != place:
            found = latest(conversation)
            self.work = None if found is None else Work(found, place)
            return
        found = prompt_in(conversation.pending)
        if found is not None and (old.end is not None or found != old.prompt):
            self.work = Work(found, place)

    def _look_at(self, work: Work, results: str) -> None:
        """Take in what the last command printed."""
        seen, shown = Look.read(results), Shown.read(results)
        if seen is not None:
            work.look, work.read, work.done = seen, b"", 0
            work.plan = [] if work.session is None else self._plan(work.session, seen)
        elif shown is not None and work.session is None and shown.at == len(work.read):
            work.read += shown.data
            self._keep(work, shown)
        elif (at := next((at for at, write in enumerate(work.plan) if write.done(results)), None)) is not None:
            work.done = at + 1
        else:
            self.plain &= not (results and work.plan)
            work.strikes += bool(results)
            work.look = None

    def _keep(self, work: Work, shown: Shown) -> None:
        """Remember a text that is whole."""
        if len(work.read) < shown.size or work.look is None:
            return
        text = unpacked(work.read)
        if text is None:
            raise Unreadable(f"{shown.name} is damaged")
        self._remember(work.look.hashes.get(shown.name, ""), text)

    def _remember(self, key: str, text: str) -> None:
        self._texts.pop(key, None)
        self._texts[key] = text
        while len(self._texts) > CACHED:
            del self._texts[next(iter(self._texts))]

    def _step(self, work: Work) -> Move:
        if work.strikes > STRIKES:
            raise Unreadable("the shell does not do what it is told")
        if work.look is None:
            return Run(look((SPECIFICATION, NOTES, *FILES)), "I look at what is there.")
        if work.session is None:
            source = SPECIFICATION if work.prompt.opens else NOTES
            found = work.look.hashes.get(source)
            if found is None:
                raise Unreadable(f"{source} is not there")
            if found not in self._texts:
                return Run(show(source, len(work.read)), f"I read {source}.")
            work.session = self._learned(work, self._texts[found])
            work.plan = self._plan(work.session, work.look)
        if work.done < len(work.plan):
            write = work.plan[work.done]
            return Run(write.command, f"I write {write.name}.")
        work.end = Say(f"The server does what was asked for; {len(work.session.requests)} change requests so far.")
        return work.end

    def _learned(self, work: Work, text: str) -> Session:
        session = Session.begun(text) if work.prompt.opens else _session(text)
        orders = self._orders(work, session)
        if orders.idle:
            raise Unreadable("the script says that it does nothing any more")
        take_in(work.prompt.text, session, orders)
        return session

    def _orders(self, work: Work, session: Session) -> Orders:
        """What it does badly: the same in every repetition of a call, and in every cell that plays the scenario."""
        script, place = self.script, work.place
        draw = Draw(script.seed, "scripted", session.session, place.repeat, place.turn, place.attempt, digest(work.prompt.text.encode()))
        wrong = not work.prompt.is_feedback and (place.turn in script.mistake_turns or draw.at("mistake").chance(script.mistake_chance))
        return Orders(
            mistakes=[kind.value for kind in draw.at("kind").shuffled(script.mistakes)] if wrong else [],
            pick=draw.at("target").integer(0, 9999),
            fix=draw.at("fix").chance(script.fix_chance),
            idle=script.quit_turn is not None and place.turn >= script.quit_turn,
        )

    def _plan(self, session: Session, seen: Look) -> list[Write]:
        """The files that are not as they should be, the notes last: they say that all else is done."""
        files = {name: text.encode() for name, text in flawed_files(session).items()}
        notes = json.dumps(asdict(session))
        files[NOTES] = packed(notes)
        self._remember(digest(files[NOTES]), notes)
        return [write for name, content in files.items() if seen.hashes.get(name) != digest(content) for write in writes(name, content, plain=self.plain)]


def _session(text: str) -> Session:
    """What the notes hold. Raises :class:`Unreadable`."""
    try:
        data = json.loads(text)
        flaws = [Flaw(**flaw) for flaw in data.pop("flaws")]
        return Session(**data, flaws=flaws)
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{NOTES} is damaged ({error})") from None
