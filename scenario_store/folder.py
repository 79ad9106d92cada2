"""One scenario on disk.

::

    journal.jsonl               :mod:`scenario_store.journal`
    live                        the token of its working folder
    turns/003/1/0/              turn 3, attempt 1, agent call 0: prompt.md, the CLI's output, tests.json, feedback.md
    commits/                    reserved: snapshots of workspace and session, which nothing makes yet
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import attrs

from scenario_store.atomic import host_faults, write_atomic
from scenario_store.record import JournalDamaged
from stamina.errors import InputError

_CELL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@,-]{0,199}")
_TOKEN = re.compile(r"[0-9a-f]{16}")
_CALL = re.compile(r"\d+(\.\d+)?")


def check_cell(cell: str) -> None:
    """Raises InputError for a cell's slug that cannot be the name of a folder."""
    if not _CELL.fullmatch(cell):
        raise InputError(
            f"{cell!r} cannot name a folder: a cell's name has letters, digits and ._+=@,- only, begins with a letter or digit, at most 200 characters"
        )


@attrs.frozen
class LiveFolder:
    """Where a scenario's agent works. The path tells neither seed nor cell (contract L4).

    Attributes:
        root: holds the three folders below, and nothing else.
    """

    root: Path

    @property
    def workspace(self) -> Path:
        """The agent's code."""
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        """The agent's HOME, with the CLI's session."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """The agent's TMPDIR."""
        return self.root / "tmp"


@attrs.frozen
class ScenarioFolder:
    """The folder of one scenario of one run. Made by :meth:`scenario_store.run.Run.scenario`.

    Attributes:
        path: the folder.
        cell, seed, repeat: which scenario.
    """

    path: Path
    _lives: Path
    cell: str
    seed: int
    repeat: int

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.path / "journal.jsonl"

    def attempt(self, turn: int, attempt: int, call: int) -> Path:
        """A new, empty folder for what an agent call and its grading leave behind.

        What is there is never used again: when a call of this number has a folder (its process was killed with us), the new one is ``<call>.1`` and so on.
        Raises HostFault.
        """
        parent = self._attempt(turn, attempt)
        with host_faults("create", parent):
            parent.mkdir(parents=True, exist_ok=True)
            return _make_numbered(parent, call)

    def latest(self, turn: int, attempt: int) -> Path | None:
        """The newest folder that :meth:`attempt` made for this attempt, None when there is none."""
        parent = self._attempt(turn, attempt)
        found = [path for path in parent.glob("*") if _CALL.fullmatch(path.name)]
        return max(found, key=lambda path: _number(path.name), default=None)

    def vouch_for(self, events: Sequence[object]) -> None:
        """Check that the journal with these events can be the one of this folder. For before a scenario is read or played on.

        Raises:
            JournalDamaged: the journal holds nothing, but agent calls left their folders.
        """
        if not events and self._was_called():
            raise JournalDamaged(self.journal, 1, "the journal holds nothing, though the folder turns shows that agent calls were made")

    def vouch_for_work(self) -> None:
        """Check that the working folder of a scenario that was begun is still there: an empty one in its place would be held against the agent.

        Raises:
            InputError: it is gone.
        """
        root = self._lives / self._token()
        if self._was_called() and not root.is_dir():
            raise InputError(
                f"{root} is gone: it held the agent's work and session. Put it back, or move {self.path} away to play this scenario from the start"
            )

    def live(self) -> LiveFolder:
        """The scenario's working folder, the same one after a resume; made when it is not there. Raises HostFault."""
        live = LiveFolder(self._lives / self._token())
        with host_faults("create", live.root):
            for path in (live.workspace, live.home, live.tmp):
                path.mkdir(parents=True, exist_ok=True)
        return live

    def _was_called(self) -> bool:
        """Whether an agent call left its folder: it is made after the call's event is in the journal, and after the working folder."""
        return any((self.path / "turns").glob("*/*/*"))

    def _attempt(self, turn: int, attempt: int) -> Path:
        return self.path / "turns" / f"{turn:03d}" / str(attempt)

    def _token(self) -> str:
        """Recorded before the folder exists, so that a folder that nobody knows cannot come about."""
        file = self.path / "live"
        with host_faults("read", file):
            token = file.read_text("ascii", "replace").strip() if file.exists() else ""
        if token and not _TOKEN.fullmatch(token):
            raise InputError(f"{file} is damaged: it holds the name of the working folder, 16 hex digits. Put back a copy of it")
        if not token:
            token = secrets.token_hex(8)
            write_atomic(file, f"{token}\n".encode())
        return token


def _make_numbered(parent: Path, call: int) -> Path:
    again = 0
    while True:
        path = parent / (f"{call}.{again}" if again else str(call))
        try:
            path.mkdir()
        except FileExistsError:
            again += 1
        else:
            return path


def _number(name: str) -> tuple[int, int]:
    call, _, again = name.partition(".")
    return int(call), int(again or 0)
