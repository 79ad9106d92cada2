"""The conversation on disk: all that the model is sent, replaced whole after every message, so that a kill at any moment leaves a valid one."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]
"""A message of a chat completion; ``extra`` is never sent."""

FORMAT: Final = 1
PROMPT: Final = "prompt"
SUMMARY: Final = "summary"
KIND: Final = "kind"
INTERRUPTED: Final = "The command was interrupted before it ended; its output is lost."
_LENGTHS_PER_TOKEN: Final = 4


class ConversationError(Exception):
    """There is no conversation to go on with, or it cannot be read; the text says which."""


@dataclass
class Conversation:
    """What has to survive the process.

    Attributes:
        path: its file.
        messages: system message and first task, then everything that was not summarised yet.
        pending: the prompt of a turn that has not ended, None between turns.
        reported: tokens that the model reported for its last request and answer, 0 before the first.
        covered: how many messages ``reported`` counts.
        floor: tokens that the first request after a summary still had; see :mod:`.compaction`.
    """

    path: Path
    messages: list[Message] = field(default_factory=list)
    pending: str | None = None
    reported: int = 0
    covered: int = 0
    floor: int = 0

    @classmethod
    def load(cls, path: Path) -> Conversation:
        """Raises ConversationError when the file is missing or is none of ours."""
        try:
            record = json.loads(path.read_bytes())
            if record["format"] != FORMAT:
                raise ConversationError(f"{path} has format {record['format']}, this runner reads {FORMAT}")
            return cls(path, list(record["messages"]), record["pending"], int(record["reported"]), int(record["covered"]), int(record["floor"]))
        except FileNotFoundError:
            raise ConversationError(f"no saved session: {path} does not exist") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConversationError(f"{path} cannot be read: {type(error).__name__}: {error}") from error

    def save(self) -> None:
        """Replace the file. Whoever reads it sees this or what was there before."""
        record = {
            "format": FORMAT,
            "messages": self.messages,
            "pending": self.pending,
            "reported": self.reported,
            "covered": self.covered,
            "floor": self.floor,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(record), encoding="utf-8")
        os.replace(beside, self.path)

    def tokens(self) -> int:
        """How long the next request is: what the model reported last, and an estimate of what came since."""
        return self.reported + estimate(self.messages[self.covered :])

    def density(self) -> float:
        """How many times as many tokens there are as :func:`estimate` says: 1 to 4, since hardly a text has more than a token for each character."""
        return min(max(1.0, self.tokens() / max(1, estimate(self.messages))), float(_LENGTHS_PER_TOKEN))

    def counted(self, reported: int) -> None:
        """The model reported this many tokens for all messages so far."""
        if reported > 0:
            self.reported, self.covered = reported, len(self.messages)

    def unanswered(self) -> list[Message]:
        """Results for tool calls that have none, because the process died in the middle of them; without those no provider takes the conversation."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index]["role"] != "tool":
                answered = {each.get("tool_call_id") for each in self.messages[index + 1 :]}
                calls = self.messages[index].get("tool_calls") or []
                return [{"role": "tool", "tool_call_id": call["id"], "content": INTERRUPTED} for call in calls if call["id"] not in answered]
        return []


def kind(message: Message) -> str | None:
    """Whether a message is a turn's prompt or a summary, None for anything else."""
    found = message.get("extra", {}).get(KIND)
    return found if isinstance(found, str) else None


def estimate(messages: list[Message]) -> int:
    """Tokens of messages, at four characters each: what a model without a tokenizer here can be told."""
    parts = (json.dumps([each.get("content"), each.get("tool_calls")], ensure_ascii=False) for each in messages)
    return sum(len(part) // _LENGTHS_PER_TOKEN + _LENGTHS_PER_TOKEN for part in parts)
