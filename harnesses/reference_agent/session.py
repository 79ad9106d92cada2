"""What the agent remembers from call to call: the texts that it was given, in HOME. Its idea of the API is read from them again each time.

Remembering texts and not the API makes it easy to be right: nothing is applied twice because nothing is applied for good, and a change that the
agent was told to forget is left out when the texts are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harnesses.reference_agent.model import Api
from harnesses.reference_agent.request_reader import Step, request
from harnesses.reference_agent.specification_reader import specification
from harnesses.reference_agent.text import Unreadable
from harnesses.reference_agent.writer import write_atomically


@dataclass
class Flaw:
    """A mistake that is in the server until it is fixed.

    Attributes:
        kind: one of :class:`harnesses.reference_agent.mistakes.Mistake`.
        target: what it is about, by names or positions; empty when it is about everything.
    """

    kind: str
    target: list[str] = field(default_factory=list)


def content_hash(text: str) -> str:
    """What tells one text from another."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Session:
    """All that is remembered.

    Attributes:
        session: its id, made of the specification, so that the same scenario has the same one.
        specification: the text.
        requests: the change requests, in order.
        last_prompt: hash of the latest prompt of any kind.
        flaws: of the mock agent.
    """

    session: str
    specification: str
    requests: list[str] = field(default_factory=list)
    last_prompt: str = ""
    flaws: list[Flaw] = field(default_factory=list)

    @classmethod
    def begun(cls, text: str) -> Session:
        """A session that knows a specification and nothing else."""
        return cls(content_hash(text)[:32], text)

    def is_repeated(self, prompt: str) -> bool:
        """Whether this prompt is the latest one once more, because the call that it came with was cut off."""
        return self.last_prompt == content_hash(prompt)

    def steps(self, number: int) -> list[Step]:
        """The changes of the request with this number, from 1."""
        return request(self.requests[number - 1], f"change request {number}")

    def api(self, forgotten: Set[tuple[int, int]] = frozenset()) -> Api:
        """The API as the texts describe it, without the changes forgotten (number of the request, place in it). Raises :class:`Unreadable`."""
        api = specification(self.specification)
        for number in range(1, len(self.requests) + 1):
            for place, step in enumerate(self.steps(number)):
                if (number, place) not in forgotten:
                    step.apply(api)
        return api

    def save(self, path: Path) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(asdict(self)))


def load(path: Path) -> Session | None:
    """The session in a file, None when there is none. Raises :class:`Unreadable` when it is damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        flaws = [Flaw(**flaw) for flaw in data.pop("flaws")]
        return Session(**data, flaws=flaws)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path} is damaged ({error}); the session is lost") from None
