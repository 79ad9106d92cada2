"""Finds what the benchmark asks in what a CLI made of it: in the last message or a summary, with the CLI's own text before and behind."""

from __future__ import annotations

import re
from typing import Final

import attrs

from harnesses.reference_agent.learning import FEEDBACK
from harnesses.scripted_model.conversation import Conversation, Role, Turn

HEADS: Final = re.compile(
    r"Write the HTTP server that `initial_specification\.md`|The API changes\. Please make \d+ change|The API stays as it is this time\.|" + re.escape(FEEDBACK)
)
"""How each prompt of the benchmark begins."""

_ITEM: Final = re.compile(r"\d+\. | |$")


@attrs.frozen
class Prompt:
    """What is asked, without anything that may differ from one call to its repetition."""

    text: str

    @property
    def opens(self) -> bool:
        """Whether it is the first of a scenario."""
        return self.text.startswith("Write ")

    @property
    def is_feedback(self) -> bool:
        """Whether it tells of failed tests."""
        return self.text.startswith(FEEDBACK)


def prompt_in(turns: tuple[Turn, ...]) -> Prompt | None:
    """The latest prompt among what users said, None when there is none."""
    for turn in reversed(turns):
        for text in reversed(turn.texts) if turn.role is Role.USER else ():
            heads = list(HEADS.finditer(text))
            if heads:
                return Prompt(_normal(text[heads[-1].start() :]))
    return None


def latest(conversation: Conversation) -> Prompt | None:
    """The latest prompt of a conversation."""
    return prompt_in(conversation.turns)


def around(text: str) -> tuple[str, str]:
    """What stands before the first prompt in a text, and behind the last one; all of it is behind, when there is none."""
    heads = list(HEADS.finditer(text))
    if not heads:
        return "", text
    behind = text[heads[-1].start() :]
    return text[: heads[0].start()], behind[len(_normal(behind)) :]


def _normal(text: str) -> str:
    """A request is its heading and its list; a report on tests is all of it."""
    if text.startswith(FEEDBACK):
        return text.strip()
    heading, *rest = text.split("\n")
    kept: list[str] = []
    for line in rest:
        if _ITEM.match(line) is None:
            break
        kept.append(line.rstrip())
    return "\n".join([heading.rstrip(), *kept]).rstrip() + "\n"
