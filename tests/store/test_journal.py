"""The journal: what was appended is read back, whatever happened in between."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario_store.journal import History, Journal, JournalUnknown, read_journal
from scenario_store.record import JournalDamaged, decode, encode
from stamina.errors import HostFault, InputError
from stamina.outcome import Cause
from stamina.turns import CallExpired, SuiteRan, TurnBegan, WorkspaceMeasured
from stamina.turns import Event as TurnEvent


@attrs.frozen
class Said:
    text: str


@attrs.frozen
class Circle:
    size: float


@attrs.frozen
class Square:
    size: float


@attrs.frozen
class Drawn:
    shape: Circle | Square
    digest: str | None = None


Event: TypeAlias = Said | Drawn

texts = st.text(st.characters(codec="utf-8"), max_size=30)
shapes = st.builds(Circle, st.floats(allow_nan=False, allow_infinity=False)) | st.builds(Square, st.integers().map(float))
events = st.builds(Said, texts) | st.builds(Drawn, shapes, st.none() | texts)


def clock() -> float:
    return 1767225600.25


def fresh(folder: Path, name: str = "journal.jsonl") -> Path:
    path = folder / name
    for old in folder.glob(f"{path.stem}*"):
        old.unlink()
    return path


def write(path: Path, things: list[Event]) -> None:
    with Journal[Event].open(path, Event, clock=clock) as journal:
        for thing in things:
            journal.append(thing, sync=False)


def read(path: Path) -> History[Event]:
    return read_journal(path, Event)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journals")


@given(st.lists(events, max_size=6))
def test_what_is_appended_is_read_back(folder: Path, things: list[Event]) -> None:
    """Every event comes back equal, in order, through a reader and through reopening."""
    path = fresh(folder)
    write(path, things)
    assert list(read(path).events) == things
    with Journal[Event].open(path, Event, clock=clock) as journal:
        assert list(journal.history.events) == things


def test_the_turn_machines_events_are_kept(tmp_path: Path) -> None:
    """Events with enums, mappings and optional fields come back as the same values."""
    things = [
        TurnBegan(0, "ab"),
        CallExpired(0, 0, 0, 1.5, Cause.PROVIDER),
        SuiteRan(0, 0, 3, 4),
        WorkspaceMeasured(0, 0, {"python": 7}, 7, 0, program="python3"),
    ]
    with Journal[TurnEvent].open(tmp_path / "journal.jsonl", TurnEvent, clock=clock) as journal:
        for thing in things:
            journal.append(thing)
    history: History[TurnEvent] = read_journal(tmp_path / "journal.jsonl", TurnEvent)
    assert list(history.events) == things


def test_a_journal_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """A scenario that has not begun has no events, and reading makes no file."""
    assert read(tmp_path / "journal.jsonl") == History()
    assert list(tmp_path.iterdir()) == []


def test_records_are_numbered_dated_and_chained(tmp_path: Path) -> None:
    """Each record names its predecessor, and anybody can check it with sha256 alone."""
    write(tmp_path / "journal.jsonl", [Said("a"), Said("b")])
    lines = (tmp_path / "journal.jsonl").read_bytes().splitlines()
    records = [decode(line) for line in lines]
    assert [record and record.seq for record in records] == [0, 1, 2]
    assert [json.loads(line)["at"] for line in lines] == [clock()] * 3
    assert [json.loads(line)["prev"] for line in lines] == ["0" * 32, *(json.loads(line)["digest"] for line in lines[:-1])]


def test_an_event_of_another_union_is_refused(tmp_path: Path) -> None:
    """A journal takes the events it was opened for, so that it can always be read again."""
    with Journal[Event].open(tmp_path / "journal.jsonl", Event, clock=clock) as journal:
        with pytest.raises(TypeError, match="Circle is not one of Said, Drawn"):
            journal.append(Circle(1.0))  # type: ignore[arg-type]
        journal.append(Said("still works"))
    assert read(tmp_path / "journal.jsonl").events == (Said("still works"),)


THREE = [Said("one"), Drawn(Square(2.0), "0" * 32), Said('three {"digest":"')]


def test_a_cut_at_any_byte_loses_at_most_the_record_it_is_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a write stops, the journal reopens with all whole records, takes more, and what was cut off is put aside."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # two thousand real ones would only take time
    whole = fresh(folder)
    write(whole, THREE)
    content = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(len(content) + 1):
        path = fresh(folder, "cut.jsonl")
        path.write_bytes(content[:cut])
        kept = sum(end <= cut for end in ends)
        assert read(path).torn == cut - (ends[kept - 1] if kept else 0)
        with Journal[Event].open(path, Event, clock=clock) as journal:
            assert list(journal.history.events) == THREE[: max(0, kept - 1)]
            journal.append(Said("next"), sync=False)
        assert list(read(path).events) == [*THREE[: max(0, kept - 1)], Said("next")]
        torn = content[ends[kept - 1] if kept else 0 : cut]
        assert [file.read_bytes() for file in folder.glob("cut.torn-*")] == ([torn] if torn else [])


@pytest.mark.parametrize("garbage", [b"\0" * 4096, b'{"digest":"', b"\n", b"\0\n\xff\xfe\n", b'{"seq":1}\n'])
def test_garbage_at_the_end_is_put_aside(tmp_path: Path, garbage: bytes) -> None:
    """What a power cut leaves at the end of a file is kept in a file of its own, and costs no record."""
    path = tmp_path / "journal.jsonl"
    write(path, THREE)
    for number in (1, 2):
        with path.open("ab") as file:
            file.write(garbage)
        with Journal[Event].open(path, Event, clock=clock) as journal:
            assert list(journal.history.events) == THREE
            assert journal.put_aside == tmp_path / f"journal.torn-{number}"
            assert journal.put_aside.read_bytes() == garbage


def test_any_flipped_byte_is_noticed(folder: Path) -> None:
    """A changed byte is damage with its line's number; in the last record it is a torn tail. It is never read as if nothing had happened."""
    whole = fresh(folder)
    write(whole, THREE)
    content = whole.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    for place in range(len(content)):
        path = fresh(folder, "flipped.jsonl")
        flipped = bytes([content[place] ^ (0x20 if place % 2 else 0x01)])
        path.write_bytes(content[:place] + flipped + content[place + 1 :])
        if place >= last:
            assert list(read(path).events) == THREE[:-1]
            assert read(path).torn > 0
        else:
            with pytest.raises(JournalDamaged, match="checksum") as caught:
                read(path)
            assert caught.value.line == content.count(b"\n", 0, place) + 1


@pytest.mark.parametrize(
    "edit", [lambda lines: lines[:1] + lines[2:], lambda lines: lines[:2] + lines[1:], lambda lines: [lines[0], lines[2], lines[1], lines[3]]]
)
def test_a_line_that_is_missing_doubled_or_moved_is_noticed(tmp_path: Path, edit: object) -> None:
    """Whole lines cannot be taken out or moved about, either."""
    path = tmp_path / "journal.jsonl"
    write(path, THREE)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(edit(lines)))  # type: ignore[operator]
    with pytest.raises(JournalDamaged, match="missing, doubled or moved"):
        read(path)


def test_a_line_of_another_journal_is_noticed(tmp_path: Path) -> None:
    """A whole record in the right place of the wrong journal does not fit its neighbours."""
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    write(ours, THREE)
    write(theirs, [Said("other")])
    lines = ours.read_bytes().splitlines(keepends=True)
    ours.write_bytes(b"".join([lines[0], lines[1], theirs.read_bytes().splitlines(keepends=True)[1], lines[3]]))
    with pytest.raises(JournalDamaged, match="record 1 stands where record 2 belongs"):
        read(ours)
    ours.write_bytes(b"".join([lines[0], theirs.read_bytes().splitlines(keepends=True)[1], *lines[2:]]))
    with pytest.raises(JournalDamaged, match="record 2"):
        read(ours)


def test_a_forged_number_is_noticed(tmp_path: Path) -> None:
    """A record with a good checksum and a good predecessor still has to have its own number."""
    path = tmp_path / "journal.jsonl"
    write(path, [Said("a")])
    last = decode(path.read_bytes().splitlines()[-1])
    assert last is not None
    with path.open("ab") as file:
        file.write(encode(7, 0.0, "Said", {"text": "b"}, last.digest)[1])
    with pytest.raises(JournalDamaged, match="record 7 stands where record 2 belongs"):
        read(path)


def test_damage_says_where_and_what_to_do_and_changes_nothing(tmp_path: Path) -> None:
    """The message names file, line and a way out; the damaged file stays as it is."""
    path = tmp_path / "journal.jsonl"
    write(path, THREE)
    path.write_bytes(path.read_bytes().replace(b"one", b"two"))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"journal\.jsonl, line 2: .*move the scenario's folder"):
        Journal[Event].open(path, Event, clock=clock)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_record_of_a_newer_version_is_named(tmp_path: Path) -> None:
    """An event class or field that this version does not know is a message, not a guess."""
    path = tmp_path / "journal.jsonl"
    write(path, [Drawn(Circle(1.0), "x")])
    with pytest.raises(JournalUnknown, match="line 2: this version of stamina does not know a record of type 'Drawn'"):
        read_journal(path, Said)

    newer = attrs.make_class("Drawn", ["shape"], frozen=True)
    with pytest.raises(JournalUnknown, match=r"the fields of Drawn .*digest"):
        read_journal(path, newer)


def test_a_journal_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first record carries the format's version."""
    monkeypatch.setattr("scenario_store.journal.FORMAT", 2)
    write(tmp_path / "journal.jsonl", [Said("a")])
    monkeypatch.undo()
    with pytest.raises(JournalUnknown, match="journals of format 2"):
        read(tmp_path / "journal.jsonl")


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    """One writer at a time, also within one process; the lock ends with the first."""
    path = tmp_path / "journal.jsonl"
    with Journal[Event].open(path, Event, clock=clock) as first:
        first.append(Said("a"))
        with pytest.raises(InputError, match="another process is running this scenario"):
            Journal[Event].open(path, Event, clock=clock)
        assert read(path).events == (Said("a"),)
        first.append(Said("b"))
    with Journal[Event].open(path, Event, clock=clock) as second:
        assert second.history.events == (Said("a"), Said("b"))


@contextmanager
def small_disk() -> Iterator[None]:
    """No file of this process may grow beyond 2,000 bytes: the system then writes what fits and refuses the rest, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_the_hosts_fault_and_leaves_no_half_record(tmp_path: Path) -> None:
    """What does not fit is taken back whole; what does fit is still taken, and nothing is torn."""
    path = tmp_path / "journal.jsonl"
    with small_disk(), Journal[Event].open(path, Event, clock=clock) as journal:
        journal.append(Said("before"))
        size = path.stat().st_size
        with pytest.raises(HostFault, match=r"cannot write .*journal\.jsonl"):
            journal.append(Said("x" * 5000))
        assert path.stat().st_size == size
        journal.append(Said("after"))
    with small_disk(), Journal[Event].open(path, Event, clock=clock) as journal:
        with pytest.raises(HostFault):
            journal.append(Said("x" * 5000))
        journal.append(Said("again"))
    history = read(path)
    assert (history.events, history.torn) == ((Said("before"), Said("after"), Said("again")), 0)


def test_a_failed_sync_needs_the_journal_to_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed fsync nobody knows what the disk holds: the record is taken back, and only reopening goes on."""
    path = tmp_path / "journal.jsonl"
    with Journal[Event].open(path, Event, clock=clock) as journal:
        journal.append(Said("a"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", _fail)
            with pytest.raises(HostFault, match="Input/output error"):
                journal.append(Said("b"))
        with pytest.raises(HostFault, match="open it again"):
            journal.append(Said("c"))
    with Journal[Event].open(path, Event, clock=clock) as journal:
        assert journal.history.events == (Said("a"),)
        journal.append(Said("d"))


def _fail(descriptor: int) -> None:
    raise OSError(5, "Input/output error")


def test_a_folder_that_is_not_there_is_the_hosts_fault(tmp_path: Path) -> None:
    """An error of the system is an error of ours, with the file's name."""
    with pytest.raises(HostFault, match=r"cannot open .*journal\.jsonl: No such file"):
        Journal[Event].open(tmp_path / "gone" / "journal.jsonl", Event, clock=clock)


APPENDER = """
import sys, attrs
from contextlib import contextmanager
from pathlib import Path
from scenario_store.journal import Journal

@attrs.frozen
class Said:
    text: str

with Journal[Said].open(Path(sys.argv[1]), Said, clock=lambda: 0.0) as journal:
    for number in range(1_000_000):
        journal.append(Said(f"{number}" + "x" * 3000))
        print(number, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """After SIGKILL in the middle of appending, every record whose append returned is there, and the lock is free."""
    path = tmp_path / "journal.jsonl"
    with subprocess.Popen([sys.executable, "-c", APPENDER, str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        seen = [int(child.stdout.readline()) for _ in range(20)]
        child.kill()
        seen += [int(line) for line in child.stdout.read().split()]
    with Journal[Said].open(path, Said, clock=clock) as journal:
        told = [int(event.text.rstrip("x")) for event in journal.history.events]
        assert told == list(range(len(told)))
        assert len(seen) <= len(told) <= len(seen) + 1
        journal.append(Said("goes on"))
