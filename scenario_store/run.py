"""A run on disk: one folder that says everything about a sweep that was played, and from which it can be resumed on any host.

::

    sweep.toml          as given
    lock.json           what the run is made of; written last, so a folder without it is no run
    run.pid             locked by the process that plays the run, for as long as it does
    log.jsonl           the log
    result.json         rewritten whole; derivable from the journals
    scenarios/<cell>/<seed>/<repeat>/     see :class:`scenario_store.folder.ScenarioFolder`
    live/<token>/       where agents work; the names say nothing (contract L4)

Formats and versions are in docs/formats.md.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
from cattrs import transform_error
from cattrs.preconf.json import make_converter

from scenario_store.atomic import host_faults, sync_folder, write_all, write_atomic
from scenario_store.folder import ScenarioFolder, check_cell
from stamina.config.lock import Lock
from stamina.errors import InputError

FORMAT: Final = 1
"""Version of the folder's layout and of lock.json; another one is refused."""

_UNFINISHED: Final = frozenset({"sweep.toml", "run.pid"})
"""All that a creation that was cut short can leave, beside temporary files."""

GLANCE: Final = 1.0
"""Seconds in which somebody who only looks whether a run is played has done so."""


@attrs.frozen
class Run:
    """A run folder. Reading needs no lock; whoever plays holds :meth:`playing`.

    Attributes:
        path: the folder.
    """

    path: Path

    @classmethod
    def create(cls, path: Path, sweep_toml: bytes, lock: Lock) -> Run:
        """Make a run folder.

        Args:
            path: must not exist, be empty, or hold what an earlier creation left when it was cut short.
            sweep_toml: the sweep file as given.
            lock: what the run is made of.

        Raises InputError when something else is there, HostFault when the disk fails.
        """
        run = cls(path)
        run.check_free()
        with host_faults("create", path):
            run._scenarios.mkdir(parents=True, exist_ok=True)
            run._live.mkdir(exist_ok=True)
        write_atomic(run.sweep_file, sweep_toml)
        run._write_lock(lock)
        with host_faults("create", path):
            sync_folder(path.parent)
        return run

    @classmethod
    def open(cls, path: Path) -> Run:
        """A run folder that is there. Raises InputError when it is none, or one of another version."""
        if not (path / "lock.json").is_file():
            raise InputError(f"{path} is not a run folder: it holds no lock.json. Give the folder that `stamina run` wrote, such as runs/NAME")
        run = cls(path)
        found = run._read_lock().get("format")
        if found != FORMAT:
            raise InputError(f"{run.lock_file}: this run has format {found!r}, this version of stamina reads {FORMAT}. Use the version that wrote it")
        return run

    @staticmethod
    def without_lock(path: Path) -> str:
        """What to do about a folder that holds a sweep file and no lock.json."""
        if any(path.glob("scenarios/*/*/*")):
            copies = sorted(path.glob("lock.*.json"), key=lambda copy: copy.stat().st_mtime)
            hint = f" {copies[-1].name} is what it was before the run was last extended." if copies else ""
            return f"{path} holds scenarios that were played, but its lock.json, which says what they were played under, is gone. Put back a copy of it.{hint}"
        return f"{path} holds no lock.json: its creation was cut short. Give the sweep file to `stamina run` again"

    @property
    def sweep_file(self) -> Path:
        """The sweep file, as given."""
        return self.path / "sweep.toml"

    @property
    def lock_file(self) -> Path:
        """What the run is made of."""
        return self.path / "lock.json"

    @property
    def log_file(self) -> Path:
        """JSON lines of structlog."""
        return self.path / "log.jsonl"

    @property
    def result_file(self) -> Path:
        """The latest result."""
        return self.path / "result.json"

    def lock(self) -> Lock:
        """What the run is made of. Raises InputError when lock.json is damaged."""
        content = self._read_lock().get("lock")
        if not isinstance(content, dict):
            raise InputError(f"{self.lock_file} is damaged: it does not say what the run is made of (key lock). Put back a copy of it")
        try:
            return make_converter(forbid_extra_keys=True).structure(content, Lock)
        except Exception as error:
            raise InputError(f"{self.lock_file} cannot be read: {'; '.join(transform_error(error, path='lock'))}") from error

    def extend(self, sweep_toml: bytes, lock: Lock) -> None:
        """Take a new sweep file and lock; the old ones stay as ``sweep.1.toml``, ``lock.1.json`` and so on.

        Whether the new lock only extends the old one is for the caller to decide (:func:`stamina.config.lock.difference`). Call while :meth:`playing`.
        Raises HostFault.
        """
        number = 1 + len(list(self.path.glob("lock.*.json")))
        for old in (self.sweep_file, self.lock_file):
            with host_faults("read", old):
                content = old.read_bytes()
            write_atomic(old.with_name(f"{old.stem}.{number}{old.suffix}"), content)
        write_atomic(self.sweep_file, sweep_toml)
        self._write_lock(lock)

    def write_result(self, result: bytes) -> None:
        """Replace result.json in one step. Raises HostFault; then the old one stands."""
        write_atomic(self.result_file, result)

    def scenario(self, cell: str, seed: int, repeat: int) -> ScenarioFolder:
        """The folder of one scenario, made when it is not there. Raises HostFault."""
        check_cell(cell)
        path = self._scenarios / cell / str(seed) / str(repeat)
        with host_faults("create", path):
            path.mkdir(parents=True, exist_ok=True)
        return ScenarioFolder(path, self._live, cell, seed, repeat)

    def scenarios(self) -> tuple[ScenarioFolder, ...]:
        """The scenarios that were begun, ordered by cell, seed, repeat."""
        found = [
            ScenarioFolder(path, self._live, path.parts[-3], int(path.parts[-2]), int(path.name))
            for path in self._scenarios.glob("*/*/*")
            if path.name.isdecimal() and path.parts[-2].isdecimal()
        ]
        return tuple(sorted(found, key=lambda folder: (folder.cell, folder.seed, folder.repeat)))

    @contextlib.contextmanager
    def playing(self) -> Iterator[None]:
        """Hold the right to play this run, for the length of the block; it ends with the process, however that ends.

        Raises InputError when another process holds it.
        """
        path = self.path / "run.pid"
        with host_faults("open", path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock_or_refuse(descriptor, self.path)
            with host_faults("write", path):
                os.ftruncate(descriptor, 0)
                write_all(descriptor, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(descriptor)

    @property
    def is_played(self) -> bool:
        """Whether a process, this one included, holds the right to play it."""
        try:
            with (self.path / "run.pid").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except BlockingIOError:
            return True
        except OSError:  # there is no such file, or a file system without locks: nobody can be playing there
            return False

    @property
    def _scenarios(self) -> Path:
        return self.path / "scenarios"

    @property
    def _live(self) -> Path:
        return self.path / "live"

    def check_free(self) -> None:
        """Raises InputError when this cannot become a new run folder."""
        if (self.path / "lock.json").exists():
            raise InputError(f"{self.path} holds a run already. Resume it (`stamina resume {self.path}`), or choose another folder with --out")
        if not self.path.exists():
            return
        with host_faults("read", self.path):
            strange = sorted(entry.name for entry in self.path.iterdir() if not _left_over(entry))
        if strange:
            if any(self.path.glob("scenarios/*/*/*")):
                raise InputError(self.without_lock(self.path))
            raise InputError(f"{self.path} is not empty (it holds {strange[0]}). Choose another folder with --out")

    def _read_lock(self) -> dict[str, Any]:
        with host_faults("read", self.lock_file):
            content = self.lock_file.read_bytes()
        try:
            value = json.loads(content)
        except ValueError as error:
            raise InputError(f"{self.lock_file} is damaged ({error}). Put back a copy of it") from error
        return value if isinstance(value, dict) else {}

    def _write_lock(self, lock: Lock) -> None:
        value = {"format": FORMAT, "lock": make_converter().unstructure(lock)}
        write_atomic(self.lock_file, json.dumps(value, indent=2, allow_nan=False).encode() + b"\n")


def _left_over(entry: Path) -> bool:
    """Whether a creation that was cut short can have left this."""
    if entry.is_dir():
        return entry.name in {"scenarios", "live"} and not any(entry.iterdir())
    return entry.name in _UNFINISHED or (entry.name.startswith(".") and entry.name.endswith(".tmp"))


def _lock_or_refuse(descriptor: int, path: Path) -> None:
    with host_faults("lock", path):
        if _locked(descriptor):
            return
    pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    raise InputError(f"{path} is being played by another process (pid {pid}). Watch it with `stamina status {path}`, or stop it first")


def _locked(descriptor: int) -> bool:
    """Whether the lock is ours now. Who only looks whether a run is played (:attr:`Run.is_played`) has it for a moment, and must refuse nobody."""
    deadline = time.monotonic() + GLANCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        else:
            return True
