"""How much disk one container may take, where many share one disk and nothing but counting tells them apart.

Counting walks folders, so it is done only when it could matter: what a container has taken is at most what was last counted plus all that the disks have lost
since, whoever took it. With hundreds of neighbours that never write much, nobody is ever counted again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs

from actors.warden import Usage

SLACK: Final = Usage(256 << 20, 50_000)
"""What a call may add to a container that was over its limit before: removing files needs room too."""

NEVER: Final = Usage(1 << 62, 1 << 62)


def free_of(folders: Iterable[Path]) -> tuple[Usage, ...]:
    """What is free on the disks of these folders, each disk once; a folder that is not on this machine counts as none."""
    found = {}
    for folder in folders:
        try:
            device, disk = os.stat(folder).st_dev, os.statvfs(folder)
        except OSError:
            continue
        found[device] = Usage(disk.f_bavail * disk.f_frsize, disk.f_favail)
    return tuple(found.values())


@attrs.define
class DiskWatch:
    """Of one container.

    Attributes:
        limit: what it may take.
        most: what it can have taken by now.
        allowed: what it may have taken by the end of this call.
    """

    limit: Usage
    most: Usage = NEVER
    allowed: Usage = attrs.field(init=False)
    _free: tuple[Usage, ...] = ()

    def __attrs_post_init__(self) -> None:
        self.allowed = self.limit

    def see(self, free: tuple[Usage, ...]) -> None:
        """Take in what is free now. Only losses count: what somebody else gave back says nothing of what this one took."""
        if len(free) == len(self._free):
            for before, now in zip(self._free, free, strict=True):
                lost = Usage(max(0, before.bytes - now.bytes), max(0, before.inodes - now.inodes))
                self.most = Usage(self.most.bytes + lost.bytes, self.most.inodes + lost.inodes)
        self._free = free

    @property
    def due(self) -> bool:
        """Whether it must be counted to know."""
        return self.most.bytes > self.allowed.bytes or self.most.inodes > self.allowed.inodes

    def count(self, taken: Usage) -> bool:
        """Take in what it has taken; whether that is too much."""
        self.most = taken
        return self.due

    def begin(self, taken: Usage) -> None:
        """Take in what it has taken when a call begins: one that begins beyond the limit may still add a little."""
        self.most = taken
        self.allowed = Usage(_allowed(taken.bytes, self.limit.bytes, SLACK.bytes), _allowed(taken.inodes, self.limit.inodes, SLACK.inodes))


def _allowed(taken: int, limit: int, slack: int) -> int:
    return limit if taken <= limit else taken + slack
