"""The protocols, one module each: how a request is read, and how an answer is said, whole and as a stream of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from typing import Protocol as Interface

import attrs

from harnesses.scripted_model.answer import Answer, Count
from harnesses.scripted_model.conversation import Conversation
from harnesses.scripted_model.speech import chat, gemini, messages, responses
from stamina.protocols import Protocol


class Events(Interface):
    """Makes a stream out of an answer."""

    def __call__(self, answer: Answer, *, wants_usage: bool) -> Iterator[bytes]:
        """Its events, each whole."""
        ...


@attrs.frozen
class Speech:
    """One protocol.

    Attributes:
        read: the conversation in a request's body. Raises BadConversation.
        whole: the body of an answer.
        events: the same as a stream.
        counted: the body of an answer to "how many tokens is this?".
        too_long: the body of the error for a request of more tokens (first) than the model takes in (second).
    """

    read: Callable[[Mapping[str, Any]], Conversation]
    whole: Callable[[Answer], Mapping[str, Any]]
    events: Events
    counted: Callable[[Count], Mapping[str, Any]]
    too_long: Callable[[int, int], Mapping[str, Any]]


SPEECHES: Final[Mapping[Protocol, Speech]] = {
    Protocol.CHAT: Speech(chat.read, chat.whole, chat.events, chat.counted, chat.too_long),
    Protocol.RESPONSES: Speech(responses.read, responses.whole, responses.events, chat.counted, chat.too_long),
    Protocol.MESSAGES: Speech(messages.read, messages.whole, messages.events, messages.counted, messages.too_long),
    Protocol.GEMINI: Speech(gemini.read, gemini.whole, gemini.events, gemini.counted, gemini.too_long),
}
