"""What the model says, whatever the protocol."""

from __future__ import annotations

import attrs


@attrs.frozen
class Count:
    """What an answer used, in tokens, as the model counts them.

    Attributes:
        input: all of the request, the cached part included.
        cached: of ``input``, read from the cache.
        written: of ``input``, written to the cache.
        output: all of the answer.
    """

    input: int
    output: int = 0
    cached: int = 0
    written: int = 0


@attrs.frozen
class ToolCall:
    """One call of a tool; ``arguments`` is JSON, unless the script wants it malformed."""

    name: str
    arguments: str


@attrs.frozen
class Answer:
    """An answer.

    Attributes:
        id: unique among all answers of the scenario.
        text: may be empty.
        call: None when it is the last word of the turn.
        count: what it used.
        model: as the request named it.
    """

    id: str
    text: str
    call: ToolCall | None
    count: Count
    model: str


BYTES_PER_TOKEN = 4


def tokens_in(text: str) -> int:
    """How many tokens a text is for this model: a fixed share of its bytes, so that whoever knows the text knows the count."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def pieces(text: str, size: int = 200) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)]
