"""The recording of a scenario: what goes in comes out, it grows with what is new, and neither a crash nor a full disk costs more than an exchange."""

from __future__ import annotations

import errno
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenario_store import wire_writer
from scenario_store.parts import cut
from scenario_store.recording import Recording
from scenario_store.wire import HEADER, NAME, RequestHead, WireDamaged, applied, delta
from scenario_store.wire_writer import Piece, WireWriter
from stamina.errors import HostFault, InputError
from stamina.usage import How

TEXT = st.text(max_size=10) | st.just("long text, " * 30)
NESTED = st.recursive(st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)
END = {"how": "answered", "usage": None, "detail": "", "seconds": 1.5, "first_byte": 0.5}


def head(number: int = 0, call: int = 0) -> RequestHead:
    return RequestHead(3, 1, call, number, "chat", "generate", "m", "/v1/chat/completions", (("accept", "x"),), True, 5.0)


def opened(folder: Path) -> WireWriter:
    return WireWriter(folder / NAME, lambda data: data)


def conversation(messages: int, system: str = "be good") -> bytes:
    said = [{"role": "user", "content": f"message {number}: " + f"{number * 7919 % 1000} " * 200} for number in range(messages)]
    tools = [{"name": f"tool{number}", "description": "d" * 500} for number in range(5)]
    return json.dumps({"model": "m", "messages": [{"role": "system", "content": system}, *said], "tools": tools, "stream": True}).encode()


@settings(max_examples=60)
@given(st.dictionaries(TEXT, NESTED, max_size=4), st.sampled_from([None, 2]), st.booleans())
def test_parts_are_the_body(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    """Whatever the body is, and however it is written."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert "".join(cut(text).parts()) == text
    assert "".join(cut(text[:-1]).parts()) == text[:-1]
    assert all(cut(text).parts())


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 5), st.booleans())
def test_what_two_bodies_share_is_cut_alike(one: int, two: int, numbers: int, changed: bool) -> None:
    """So a request is only looked at from where it differs from the one before."""
    old, new = (conversation(count, **more).decode() for count, more in ((one, {}), (two, {"system": "changed"} if changed else {})))
    old, new = (text.replace('"stream"', f'"numbers": {list(range(100, 200 + numbers * at))}, "stream"') for at, text in enumerate((old, new)))
    known = cut(old)
    shared = known.shared(new)
    assert new[:shared] == old[:shared]
    assert shared >= min(one, two) * 200 or changed
    assert cut(new, known, shared) == cut(new)


def test_an_element_that_goes_on_is_not_shared() -> None:
    """A number may."""
    old, new = (f'{{"a": [{"7, " * 200}7{more}]}}' for more in ("", "8"))
    assert cut(new, cut(old), cut(old).shared(new)) == cut(new)


def test_messages_tools_and_long_members_are_parts() -> None:
    """So each is kept once."""
    parts = cut(conversation(3).decode()).parts()
    assert [part[:24] for part in parts[1:4]] == ['{"role": "system", "cont', ', {"role": "user", "cont', ', {"role": "user", "cont']
    assert sum('"tool' in part for part in parts) == 6
    assert len(cut(json.dumps({"a": 1, "system": "x" * 500, "b": [1, 2]})).ends) == 3


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_what_is_new_is_enough_to_have_the_whole(base: list[int], now: list[int]) -> None:
    assert applied(base, delta(base, now)) == now


def test_what_went_in_comes_out(tmp_path: Path) -> None:
    """Also across two openings, with exchanges that overlap."""
    bodies = [conversation(10), conversation(12), b"no json", conversation(12, "changed at the front")]
    for first in (0, 2):
        writer = opened(tmp_path)
        numbers = [writer.request(head(at), bodies[at]) for at in (first, first + 1)]
        writer.answer(numbers[1], [Piece(0.25, b"one"), Piece(0.5, b"two")], {"status": 200, "headers": [["content-type", "text/plain"]]})
        writer.answer(numbers[0], [], {"end": {**END, "how": "abandoned"}})
        writer.answer(numbers[1], [Piece(0.75, b"three")], {"end": END})
        writer.close()
    recording = Recording.read(tmp_path)
    assert [recording.body(exchange) for exchange in recording.exchanges] == bodies
    assert [exchange.head for exchange in recording.exchanges] == [head(at) for at in range(4)]
    answers = [recording.answer(exchange) for exchange in recording.exchanges]
    assert [answer.status for answer in answers] == [None, 200, None, 200]
    assert answers[1].pieces == ((250, b"one"), (500, b"two"), (750, b"three"))
    assert answers[1].headers == (("content-type", "text/plain"),)
    assert [answer.end.how for answer in answers if answer.end] == [How.ABANDONED, How.ANSWERED] * 2
    assert recording.body(recording.exchanges[0]) == bodies[0]
    assert (recording.lost, recording.torn) == (0, 0)


def test_it_grows_with_what_is_new(tmp_path: Path) -> None:
    """A conversation that grows by two messages costs as much at its end as at its beginning, also when its first message changes each time."""
    writer, sizes = opened(tmp_path), []
    for turn in range(200):
        writer.request(head(turn), conversation(2 * turn, f"it is {turn} o'clock"))
        sizes.append((tmp_path / NAME).stat().st_size)
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    assert max(grown[-20:]) < 1.2 * max(grown[:20])
    recording = Recording.read(tmp_path)
    assert recording.body(recording.exchanges[199]) == conversation(398, "it is 199 o'clock")


@given(st.data())
def test_a_torn_tail_costs_what_was_being_written(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """At whatever byte; what comes after it is recorded as if nothing had been."""
    folder = tmp_path_factory.mktemp("torn")
    writer = opened(folder)
    writer.request(head(0), conversation(2))
    whole = (folder / NAME).stat().st_size
    writer.request(head(1), conversation(4))
    writer.close()
    content = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(content[: data.draw(st.integers(whole, len(content) - 1))])
    assert len(Recording.read(folder).exchanges) == 1
    writer = opened(folder)
    writer.request(head(2), conversation(4))
    writer.close()
    recording = Recording.read(folder)
    assert [exchange.head.number for exchange in recording.exchanges] == [0, 2]
    assert recording.body(recording.exchanges[1]) == conversation(4)


def test_damage_is_told_and_put_aside(tmp_path: Path) -> None:
    """A reader says where; a writer begins anew and keeps what it found."""
    writer = opened(tmp_path)
    for number in range(3):
        writer.request(head(number), conversation(number))
    writer.close()
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[len(HEADER) + 30] ^= 1
    path.write_bytes(content)
    with pytest.raises(WireDamaged, match=r"byte 15: this is not what was written here"):
        Recording.read(tmp_path)
    writer = opened(tmp_path)
    assert writer.put_aside == tmp_path / "wire.damaged-1"
    writer.request(head(9), conversation(1))
    assert [exchange.head.number for exchange in Recording.read(tmp_path).exchanges] == [9]
    path.write_bytes(b"something else")
    with pytest.raises(WireDamaged, match="no recording of this version"):
        Recording.read(tmp_path)
    with pytest.raises(InputError, match="nothing was recorded"):
        Recording.read(tmp_path / "elsewhere")


def test_a_full_disk_costs_exchanges_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of one is taken back; there is room again, and the next is whole."""
    writer = opened(tmp_path)
    writer.request(head(0), conversation(2))

    def full(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(wire_writer, "write_all", full)
        with pytest.raises(HostFault, match=r"wire\.bin: No space left"):
            writer.request(head(1), conversation(4))
    assert writer.request(head(2), conversation(4)) == 1
    writer.lost(1, "disk full")
    recording = Recording.read(tmp_path)
    assert [exchange.head.number for exchange in recording.exchanges] == [0, 2]
    assert recording.body(recording.exchanges[1]) == conversation(4)
    assert recording.lost == 1
