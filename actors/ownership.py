"""Whose a container or a network is, told by its labels, so that what a dead process left behind is known as such, and nothing else is ever touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Final

import attrs
import psutil

SWEEP: Final = "stamina.sweep"
"""The label with the token of one sweep; everything that is ours has it."""

OWNER: Final = "stamina.owner"
"""The label with the process that made it."""


@attrs.frozen
class Owner:
    """A process: the boot and the pid namespace that it lives in, its pid, and when it began. Together they name it for ever."""

    boot: str
    space: str
    pid: int
    began: int

    def text(self) -> str:
        """As in a label."""
        return f"{self.boot}:{self.space}:{self.pid}:{self.began}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """None for what is none."""
        boot, _, rest = text.partition(":")
        parts = rest.split(":")
        if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
            return None
        return cls(boot, parts[0], int(parts[1]), int(parts[2]))

    def dead(self) -> bool:
        """Whether it is known to be gone. What lives on another machine, or in another pid namespace of this boot, cannot be known."""
        here = me()
        if (self.boot, self.space) != (here.boot, here.space):
            return False
        try:
            return _began(self.pid) != self.began
        except psutil.NoSuchProcess:
            return True


@cache
def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip().replace("-", "")
    except OSError:
        return str(int(psutil.boot_time()))


@cache
def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return "0"


def _began(pid: int) -> int:
    """In ticks since the boot where the kernel tells: unlike a time of day they never move. Raises psutil.NoSuchProcess."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return int(psutil.Process(pid).create_time())


def me() -> Owner:
    """This process."""
    return Owner(_boot(), _space(), os.getpid(), _began(os.getpid()))


def labels(sweep: str) -> dict[str, str]:
    """For what this process makes for a sweep."""
    return {SWEEP: sweep, OWNER: me().text()}


def is_left(found: Mapping[str, str], *, local: bool) -> bool:
    """Whether what carries these labels has lost its owner. On an engine of this machine, what was made before the last boot has."""
    owner = Owner.parse(found.get(OWNER, ""))
    if owner is None:
        return False
    return owner.dead() or (local and owner.boot != me().boot)
