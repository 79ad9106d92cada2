"""A small program that keeps one process and everything that it starts, and can prove that all of it is gone.

It runs between us and the agent: ``python -I -S keeper.py FD``. As a *child subreaper* (Linux) it becomes the parent of every orphan below it, so nothing
escapes by ``setsid``, double forks or a clean environment, and it needs no privileges, no cgroup and no look at other people's processes. When the kernel
says that it has no children left (ECHILD), nothing of the command is alive. It also outlives us: when our end of the socket closes, even by SIGKILL, it ends
what it keeps. What it cannot survive is SIGKILL by the command itself, which runs as the same user; :mod:`actors.keeping` notices and looks for the marker.

It drains stdout and stderr always, writes them to files up to a limit and drops the rest, so that no output can block the command, fill the disk or
pass through our event loop.

The program imports little and nothing of ours: it is started for every agent call. The protocol on the socket: the length of what is to be run
(:data:`LENGTH` bytes, big endian) and its fields, separated by NULs; then, maybe at once, ``end\\n`` or a close from us; from it the lines ``started PID``,
``exited CODE`` (negative: a signal), ``empty`` and last ``done SECONDS TRUNCATED LEFT``; or ``unstarted ERRNO`` when the command could not be
started, ``failed ERRNO`` when the keeper could not.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
KILL_SECONDS = 10.0
CHUNK = 1 << 16
DRAINS = 17
"""A pipe holds at most 1 MiB when its writers are gone; somebody else may hold its other end, so there is a bound."""
LENGTH = 4
LONG = 3600.0


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, parents first. Costs in proportion to them, not to the processes of the host."""
    found = [pid]
    for parent in found:
        found += _children(parent)
    return found[1:]


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    return children


class Sink:
    """Moves one pipe's bytes to a file, up to a limit; what is over it is read and dropped."""

    def __init__(self, pipe: int, path: bytes, limit: int) -> None:
        self.pipe = pipe
        self.open = True
        self.truncated = False
        self._left = limit
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        os.set_blocking(pipe, False)

    def drain(self) -> bool:
        """Take what is there now, a bounded amount; False when nothing was."""
        if not self.open:
            return False
        try:
            data = os.read(self.pipe, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            os.close(self.pipe)
            self.open = False
        self._keep(data)
        return self.open

    def _keep(self, data: bytes) -> None:
        kept = data[: self._left]
        self.truncated = self.truncated or len(kept) < len(data)
        try:
            while kept:
                written = os.write(self._file, kept)
                self._left -= written
                kept = kept[written:]
        except OSError:  # disk full: the command goes on, and the record says that it is cut
            self.truncated, self._left = True, 0


class Keeper:
    """Runs one command to its end. ``wait`` keeps going after the command's own process exits, until we are told to end (a server that daemonises)."""

    def __init__(self, control: int, spec: list[bytes]) -> None:
        cwd, grace, limit, wait, stdout, stderr, *self.argv = spec
        self.control = control
        self.grace = float(grace)
        self.wait = wait == b"1"
        self.begun = time.monotonic()
        self.exited: int | None = None
        self.told = False
        self.empty = False
        os.chdir(cwd)
        self.sinks, self.ends = [], []
        for path in dict.fromkeys((stdout, stderr)):
            reader, writer = os.pipe()
            self.sinks.append(Sink(reader, path, int(limit)))
            self.ends.append(writer)
        self.wakeup, told = os.pipe()
        for end in (self.wakeup, told):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def run(self) -> None:
        """From start to the proof that nothing is left."""
        if not self.start():
            return
        while not self.over():
            self.turn(LONG)
        if not self.empty:
            self.end()
        for sink in self.sinks:
            for _ in range(DRAINS):
                sink.drain()
        truncated = any(sink.truncated for sink in self.sinks)
        self.say(f"done {time.monotonic() - self.begun:.3f} {int(truncated)} {int(not self.empty)}")

    def start(self) -> bool:
        """Start the command in a session of its own; our signal handlers are none of it. False when it could not be started."""
        actions = [(os.POSIX_SPAWN_DUP2, self.ends[0], 1), (os.POSIX_SPAWN_DUP2, self.ends[-1], 2)]
        try:
            self.pid = os.posix_spawnp(self.argv[0], self.argv, os.environ, file_actions=actions, setsid=True)
        except OSError as error:
            self.say(f"unstarted {error.errno}")
            return False
        for end in self.ends:
            os.close(end)
        self.say(f"started {self.pid}")
        return True

    def over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.told or (self.exited is not None and not self.wait)

    def turn(self, timeout: float) -> None:
        """Wait for anything that happens, and take it in."""
        poll = select.poll()
        for descriptor in [self.wakeup, *([] if self.told else [self.control]), *(sink.pipe for sink in self.sinks if sink.open)]:
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(max(timeout, 0.0) * 1000)}
        for sink in self.sinks:
            if sink.pipe in ready:
                sink.drain()
        if self.control in ready:
            self.told = True
        if self.wakeup in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wakeup, CHUNK)
        self.reap()

    def reap(self) -> None:
        """Take the exit codes of all that ended; note when there is nobody left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.pid:
                    self.exited = os.waitstatus_to_exitcode(status)
                    self.say(f"exited {self.exited}")
        except ChildProcessError:
            if not self.empty:
                self.empty = True
                self.say("empty")

    def end(self) -> None:
        """Ask everything to end, give it the grace, then kill until nothing is left."""
        self.told = True
        self.send(signal.SIGTERM)
        until = time.monotonic() + self.grace
        while not self.empty and time.monotonic() < until:
            self.turn(until - time.monotonic())
        until = time.monotonic() + KILL_SECONDS
        while not self.empty and time.monotonic() < until:
            self.send(signal.SIGKILL)
            self.turn(0.01)

    def send(self, number: int) -> None:
        """One signal to everything below."""
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def say(self, line: str) -> None:
        """One line to us, who may be gone."""
        with contextlib.suppress(OSError):
            os.write(self.control, line.encode() + b"\n")


def _read_spec(control: int) -> list[bytes]:
    length = int.from_bytes(_exactly(control, LENGTH), "big")
    return _exactly(control, length).split(b"\0")


def _exactly(control: int, size: int) -> bytes:
    """So many bytes and no more: an order may follow at once."""
    data = b""
    while len(data) < size:
        more = os.read(control, size - len(data))
        if not more:
            sys.exit(1)
        data += more
    return data


def _ignore(number: int, frame: object) -> None:
    """A handler that does nothing: unlike SIG_IGN it is not inherited by the command."""


def main() -> None:
    """Keep what the socket names."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)  # noqa: FBT003
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXFSZ):
        signal.signal(number, _ignore)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        keeper = Keeper(control, _read_spec(control))
        keeper.run()
    except OSError as error:
        os.write(control, f"failed {error.errno}\n".encode())


if __name__ == "__main__":
    main()
