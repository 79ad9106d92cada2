"""What the runner of mini-swe-agent keeps, and what it cuts; the agent itself is tried in test_mini_swe_runner.py and in its image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesses.mini_swe_runner.compaction import HEAD, cut, due, joined
from harnesses.mini_swe_runner.conversation import INTERRUPTED, KIND, PROMPT, Conversation, ConversationError, estimate, kind

Message = dict[str, Any]


def prompt(text: str) -> Message:
    return {"role": "user", "content": text, "extra": {KIND: PROMPT}}


def step(number: int, length: int = 400) -> list[Message]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": '{"command": "x"}'}}
    return [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": f"c{number}", "content": "y" * length}]


def talk(*turns: int) -> list[Message]:
    """So many steps in each turn."""
    found: list[Message] = [{"role": "system", "content": "s"}]
    for number, steps in enumerate(turns):
        found.append(prompt(f"turn {number}"))
        found += [message for at in range(steps) for message in step(number * 100 + at)]
    return found


def valid(messages: list[Message]) -> bool:
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.discard(message["tool_call_id"])
        elif waiting:
            return False
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    return not waiting


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(100, 4000))
def test_a_cut_conversation_is_valid_and_keeps_head_and_prompt(turns: list[int], threshold: int) -> None:
    messages = talk(*turns)
    parts = cut(messages, threshold)
    if parts is None:
        return
    whole = joined(messages, parts, "the summary", threshold)
    assert valid(whole)
    assert valid([*messages[:HEAD], *parts.old])
    assert whole[:HEAD] == messages[:HEAD]
    assert "the summary"[:threshold] in whole[HEAD]["content"]
    assert any(kind(each) == PROMPT and each["content"] == f"turn {len(turns) - 1}" for each in whole)
    assert len(parts.old) + len(parts.recent) == len(messages) - HEAD


def test_nothing_is_cut_where_nothing_can_be_gained() -> None:
    """A conversation that is all head, or all recent, or a summary already."""
    assert cut(talk(0), 1000) is None
    assert cut(talk(1), 4000) is None
    messages = talk(3, 3)
    parts = cut(messages, 800)
    assert parts is not None
    again = cut(joined(messages, parts, "x", 800)[: HEAD + 1], 800)
    assert again is None


def test_a_text_of_more_tokens_than_estimated_is_cut_all_the_same(tmp_path: Path) -> None:
    """What is recent is a quarter of the limit in the model's own tokens."""
    conversation = Conversation(tmp_path / "c.json", talk(4, 4))
    assert conversation.density() == 1
    estimated = estimate(conversation.messages)
    limit = 3 * estimated
    conversation.counted(limit)
    assert conversation.density() == pytest.approx(3)
    assert cut(conversation.messages, 4 * estimated) is None
    parts = cut(conversation.messages, limit, conversation.density())
    assert parts is not None
    assert estimated / 8 < estimate(parts.recent) <= estimated / 4 + estimate([prompt("turn 1")])
    conversation.counted(50 * limit)
    assert conversation.density() == 4


def test_what_stays_too_long_is_not_summarised_at_each_step(tmp_path: Path) -> None:
    conversation = Conversation(tmp_path / "c.json", talk(2))
    conversation.counted(1200)
    assert due(conversation, 1000)
    assert not due(conversation, 0)
    conversation.floor = 1190
    assert not due(conversation, 1000)
    conversation.counted(1400)
    assert due(conversation, 1000)


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = Conversation(tmp_path / "deep" / "c.json", talk(1, 2), pending="turn 1", reported=77, covered=3, floor=5)
    kept.save()
    assert Conversation.load(kept.path) == kept
    assert list(kept.path.parent.iterdir()) == [kept.path]


def test_calls_that_were_interrupted_get_a_result(tmp_path: Path) -> None:
    messages = [*talk(1), *step(7)[:1]]
    conversation = Conversation(tmp_path / "c.json", messages)
    assert conversation.unanswered() == [{"role": "tool", "tool_call_id": "c7", "content": INTERRUPTED}]
    assert Conversation(tmp_path / "c.json", talk(2)).unanswered() == []
    assert Conversation(tmp_path / "c.json", []).unanswered() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b'{"format": 1}', b"\xff\xfe"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(ConversationError):
        Conversation.load(tmp_path / "c.json")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match="no saved session"):
        Conversation.load(tmp_path / "c.json")


def test_tokens_are_what_was_reported_and_an_estimate_of_the_rest(tmp_path: Path) -> None:
    conversation = Conversation(tmp_path / "c.json", talk(1))
    assert conversation.tokens() == estimate(conversation.messages)
    conversation.counted(500)
    conversation.messages += step(9)
    assert conversation.tokens() == 500 + estimate(step(9))
    conversation.counted(0)
    assert conversation.reported == 500
