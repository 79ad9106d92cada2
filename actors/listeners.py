"""Who listens on a port: the only proof that the server under test is the one that was just started (a stale one would answer too)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Final

import attrs

_LISTEN: Final = b"0A"
_TABLES: Final = ("tcp", "tcp6")


@attrs.frozen
class Listener:
    """A process that holds a listening socket: its pid, and the name of its program (``python3.11``, ``node``, …)."""

    pid: int
    program: str


def listener(port: int, pids: Iterable[int]) -> Listener | None:
    """The first of these processes that listens on the port, None when none does. Looks at these processes only."""
    sockets = _listening(port)
    for pid in pids if sockets else ():
        if sockets & _sockets(pid):
            return Listener(pid, program(pid))
    return None


def program(pid: int) -> str:
    """The file name of the program that a process runs; its own name where that is hidden; empty when it is gone."""
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:
        return file.read().decode(errors="replace").strip()
    return ""


def _listening(port: int) -> set[str]:
    """The inodes of all sockets that listen on the port, on whatever address."""
    end = b":%04X" % port
    found: set[str] = set()
    for table in _TABLES:
        with contextlib.suppress(OSError), open(f"/proc/net/{table}", "rb") as file:
            for line in file:
                columns = line.split()
                if columns[3] == _LISTEN and columns[1].endswith(end):
                    found.add(columns[9].decode())
    return found


def _sockets(pid: int) -> set[str]:
    found: set[str] = set()
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                target = os.readlink(f"{folder}/{name}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found
