"""What a request is for: the work, or one of the side requests that CLIs make (summaries when the conversation grows long, titles, small questions)."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Final

from harnesses.scripted_model.conversation import Conversation, Role
from harnesses.scripted_model.prompts import Prompt, around
from harnesses.scripted_model.shells import filled, shell_of


class Purpose(StrEnum):
    """What a request is for."""

    WORK = "work"
    SUMMARY = "summary"
    TITLE = "title"
    OTHER = "other"
    COUNT = "count"


TITLE: Final = "REST server and its changes"

_SUMMARY: Final = re.compile(
    r"(?:create|write|generate|provide|produce|make|give)\b[^.\n]{0,80}\bsummary|summari[sz]e (?:the|this|our|all|what)\b"
    r"|context checkpoint compaction|state_snapshot|compact the conversation|conversation (?:summary|compaction)|handoff summary",
    re.IGNORECASE,
)
_MENTIONS_SUMMARY: Final = re.compile(r"\bsummar|\bcompact|\bcompress", re.IGNORECASE)
_TITLE: Final = re.compile(r"\btitles?\b", re.IGNORECASE)


def purpose_of(conversation: Conversation) -> Purpose:
    """What it is for. The instructions of a request that comes with tools are the CLI's own; what it wants now is what it said last."""
    before, behind = _asked(conversation)
    if conversation.answer_schema is None and shell_of(conversation.tools) is not None:
        return Purpose.SUMMARY if _SUMMARY.search(behind) else Purpose.WORK
    asked = f"{before}\n{behind}"
    system = "\n".join(turn.text for turn in conversation.turns if turn.role is Role.SYSTEM)
    if conversation.answer_schema is not None:
        return Purpose.TITLE if _TITLE.search(system + asked) else Purpose.OTHER
    if _SUMMARY.search(asked):
        return Purpose.SUMMARY
    if _TITLE.search(system):
        return Purpose.TITLE
    if _SUMMARY.search(system) or _MENTIONS_SUMMARY.search(system[-2000:] + asked[-2000:]):
        return Purpose.SUMMARY
    return Purpose.TITLE if _TITLE.search(asked) else Purpose.OTHER


def _asked(conversation: Conversation) -> tuple[str, str]:
    """What the user said last, without the prompts of the benchmark in it: they speak of titles and summaries of their own."""
    last = next(conversation.newest(Role.USER), None)
    return ("", "") if last is None or last not in conversation.pending else around(last.text)


def side_answer(purpose: Purpose, conversation: Conversation, task: Prompt | None, mark: str) -> str:
    """The text of an answer that is not work; ``task`` is what is still to be done, and ``mark`` goes into what comes back with the conversation."""
    if conversation.answer_schema is not None:
        return json.dumps(filled(conversation.answer_schema, TITLE) if conversation.answer_schema else {"title": TITLE})
    if purpose is Purpose.TITLE:
        return TITLE
    if purpose is Purpose.SUMMARY:
        return _summary("".join(_asked(conversation)) + "".join(turn.text for turn in conversation.turns if turn.role is Role.SYSTEM), task, mark)
    return f"Yes. {mark}"


def _summary(wanted: str, task: Prompt | None, mark: str) -> str:
    """In the tags that were asked for, with the task as it was given: nothing else is needed, for the code and the notes are in the workspace."""
    done = "All that was asked for so far is done." if task is None else f"This is still to be done, word for word:\n\n{task.text}"
    text = f"I write an HTTP server in this folder and keep it in step with change requests. What I know is in .coder/notes.gz. {mark}\n\n{done}"
    for tag in ("state_snapshot", "summary"):
        if f"<{tag}>" in wanted:
            return f"<{tag}>\n{text}\n</{tag}>"
    return text
