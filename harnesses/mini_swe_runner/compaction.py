"""When the conversation is summarised, which part of it, and what the model is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .conversation import KIND, PROMPT, SUMMARY, Conversation, Message, estimate, kind

HEAD: Final = 2
"""The system message and the first task, which has mini-swe-agent's rules in it: kept word for word for ever."""

REQUEST: Final = (
    "Your context is almost full. Write a summary of the conversation so far: it will replace the messages above, and you will go on with nothing else but the "
    "summary and your latest steps.\n\n"
    "Write down what each request asked for and whether it is done; the files, what is in each of them, and how to run and check them; decisions and their "
    "reasons; commands that work; problems that are known; and what is to be done next.\n\n"
    "Answer with the summary as plain text. Do not call a tool."
)

SUMMARISED: Final = "Your context was full. This is your own summary of the earlier part of the conversation:\n\n"
WITHOUT_SUMMARY: Final = (
    "Your context was full, and the earlier part of the conversation was dropped. Look at the files in the working directory to see what is there."
)
_RECENT_SHARE: Final = 4
_LENGTHS_PER_TOKEN: Final = 4


@dataclass(frozen=True)
class Cut:
    """A conversation in two.

    Attributes:
        old: what is summarised, head excluded.
        recent: what is kept word for word; begins with the prompt of the present turn, wherever that stood.
    """

    old: list[Message]
    recent: list[Message]


def due(conversation: Conversation, threshold: int) -> bool:
    """Whether to summarise before the next request. What a summary cannot bring under the threshold (prompt and rules alone are too long, or the model reports
    too much) must not be tried again at each step: the conversation has to have grown by an eighth of the threshold first."""
    return threshold > 0 and conversation.tokens() >= max(threshold, conversation.floor + threshold // 8 if conversation.floor else 0)


def cut(messages: list[Message], threshold: int, density: float = 1.0) -> Cut | None:
    """Where to cut so that the recent part is about a quarter of the threshold; None when nothing could be gained. ``density`` is the conversation's.

    A cut never stands before a tool's result: its call would be missing.
    """
    start, budget = len(messages), threshold / density / _RECENT_SHARE
    for index in range(len(messages) - 1, HEAD - 1, -1):
        budget -= estimate([messages[index]])
        if budget < 0:
            break
        if messages[index]["role"] != "tool":
            start = index
    old, recent = messages[HEAD:start], messages[start:]
    prompts = [each for each in old if kind(each) == PROMPT]
    if prompts and not any(kind(each) == PROMPT for each in recent):
        old = [each for each in old if each is not prompts[-1]]
        recent = [prompts[-1], *recent]
    if all(kind(each) == SUMMARY for each in old):
        return None
    return Cut(old, recent)


def joined(messages: list[Message], parts: Cut, summary: str | None, threshold: int) -> list[Message]:
    """The conversation after it: head, summary (None when there is none to be had), recent part."""
    text = WITHOUT_SUMMARY if summary is None else SUMMARISED + summary[: threshold // _RECENT_SHARE * _LENGTHS_PER_TOKEN]
    return [*messages[:HEAD], {"role": "user", "content": text, "extra": {KIND: SUMMARY}}, *parts.recent]
