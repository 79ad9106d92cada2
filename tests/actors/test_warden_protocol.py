"""Talking to a warden over a wire that is torn, slow or silent."""

import struct

import attrs
import pytest
import trio
from trio.testing import MockClock

from actors.warden import VERSION, NotStarted, Order, Usage, Warden, encoded
from stamina.errors import SandboxFault

ORDER = Order(("true",), {"A": "b=c"}, "/", "", "/out", "/err", 10, 5, 6)


@attrs.define
class FakeWire:
    """Answers each request with what the script says, cut into single bytes."""

    answers: dict[str, list[str]]
    sent: list[list[str]] = attrs.field(factory=list)
    _bytes: bytearray = attrs.field(factory=bytearray)
    _come: trio.Event = attrs.field(factory=trio.Event)
    closed: bool = False

    async def send(self, data: bytes) -> None:
        fields = data[4:].decode().rstrip("\0").split("\0")
        self.sent.append(fields)
        for answer in self.answers.get(fields[0], []):
            self.say(answer)

    def say(self, text: str) -> None:
        self._bytes += struct.pack(">I", len(text)) + text.encode()
        self._come.set()

    def close(self) -> None:
        self.closed = True
        self._come.set()

    async def receive(self) -> bytes:
        while not self._bytes and not self.closed:
            self._come = trio.Event()
            await self._come.wait()
        data = bytes(self._bytes[:1])
        del self._bytes[:1]
        await trio.lowlevel.checkpoint()
        return data


@pytest.mark.parametrize(("answer", "seconds"), [("1500000000", 1.5), ("0", 0.0), ("-1", None)])
async def test_what_the_command_itself_has_worked(nursery: trio.Nursery, answer: str, seconds: float | None) -> None:
    """Unknown when it has ended."""
    warden = Warden(FakeWire({"worked": [f"worked\n{answer}"]}))
    nursery.start_soon(warden.listen)
    assert await warden.worked() == seconds


async def test_a_command_from_start_to_end(nursery: trio.Nursery) -> None:
    """Answers come in pieces; what happens in between is heard too."""
    wire = FakeWire({"hello": [f"hello\n{VERSION}"], "run": ["started\n7", "exited\n-9"], "end": ["empty", "done\n1\n0\n2"]})
    warden = Warden(wire)
    nursery.start_soon(warden.listen)

    await warden.hello()
    assert await warden.run(ORDER) == 7
    assert await warden.wait_exited() == -9
    done = await warden.end(1.5)

    assert (done.truncated, done.left, done.oom_kills, warden.empty) == (True, 0, 2, True)
    assert wire.sent[1] == ["run", "5", "6", "/", "", "/out", "/err", "10", "1", "A=b=c", "true"]
    assert wire.sent[2] == ["end", "1500"]


async def test_what_it_cannot_do_is_told(nursery: trio.Nursery) -> None:
    """A command that is not there is no failure of the machinery; a survivor, or a file that cannot be written, is."""
    wire = FakeWire({"run": ["unstarted\n2\ncommand"], "end": ["done\n0\n3\n0"], "hello": ["hello\n1"]})
    warden = Warden(wire)
    nursery.start_soon(warden.listen)

    with pytest.raises(NotStarted, match="2"):
        await warden.run(ORDER)
    with pytest.raises(SandboxFault, match="3 processes of the container cannot be ended"):
        await warden.end(0)
    with pytest.raises(SandboxFault, match="run 'stamina images build base'"):
        await warden.hello()
    wire.answers["run"] = ["unstarted\n28\nwarden"]
    with pytest.raises(SandboxFault, match="error 28"):
        await warden.run(ORDER)


async def test_a_count_that_was_killed_is_made_again_in_process_1(nursery: trio.Nursery) -> None:
    """An agent that is root can kill whoever counts, but not the warden."""
    wire = FakeWire({"usage": ["usage\n-1\n-1"], "fence": ["fenced\n1"]})
    warden = Warden(wire)
    nursery.start_soon(warden.listen)

    async def count() -> None:
        assert await warden.usage(5, 6, ["/a", "/b"]) == Usage(7, 8)
        nursery.cancel_scope.cancel()

    with pytest.raises(SandboxFault, match="cannot be kept apart from its neighbours: Operation not permitted"):
        await warden.fence("10.0.0.1", closed=True)
    nursery.start_soon(count)
    while len(wire.sent) < 2:
        await trio.lowlevel.checkpoint()
    wire.answers["usage"] = ["usage\n7\n8"]
    await trio.sleep_forever()


async def test_the_end_of_the_wire_ends_all_waiting(nursery: trio.Nursery) -> None:
    """And every question after it."""
    wire = FakeWire({"run": ["started\n7"]})
    warden = Warden(wire)
    nursery.start_soon(warden.listen)
    await warden.run(ORDER)

    wire.close()
    with pytest.raises(SandboxFault, match="the container ended"):
        await warden.wait_exited()
    with pytest.raises(SandboxFault, match="the container ended"):
        await warden.look("/a", "/b", writable=True)


async def test_silence_has_a_deadline(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    """A warden that does not answer is lost."""
    warden = Warden(FakeWire({}))
    nursery.start_soon(warden.listen)

    with pytest.raises(SandboxFault, match="did not answer 'look' within 30 s"):
        await warden.look("/a", "/b", writable=True)


def test_fields_cannot_smuggle_others() -> None:
    """A NUL in a value would begin another field."""
    assert encoded(["run", "a\0b"]) == struct.pack(">I", 7) + b"run\0ab\0"
