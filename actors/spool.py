"""Where a container's warden reads a command's stdin and writes its output: a folder that is mounted for it alone.

A file of the run is linked into it, so that output is where it belongs while it is being written; where it cannot be (another file system), it is copied at
the end.

An agent that is root can enter the folder: what it leaves there is removed before the next command, above all links to output that is on record.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from actors.beneath import empty
from scenario_store.atomic import host_faults
from stamina.errors import SandboxFault


@attrs.frozen
class Spool:
    """A folder of the host.

    Attributes:
        path: only its owner may enter it; nothing in it outlives a command, see :meth:`clear`.
    """

    path: Path

    @classmethod
    def make(cls, path: Path) -> Spool:
        """Make the folder, empty. Raises HostFault."""
        with host_faults("create", path):
            path.mkdir(mode=0o700, exist_ok=True)
            try:
                empty(path)
            except OSError:  # an agent that was root left what we may not remove
                path.rename(path.with_name(f"{path.name}.{secrets.token_hex(4)}"))
                path.mkdir(mode=0o700)
        return cls(path)

    def clear(self) -> None:
        """Remove what an agent left here; nothing of it runs now. Raises SandboxFault when we may not: a new sandbox has another folder."""
        try:
            empty(self.path)
        except OSError as error:
            raise SandboxFault(f"the agent left something where its output is written: {error.strerror}") from error

    @contextmanager
    def giving(self, data: bytes) -> Iterator[str]:
        """The bytes as a file for the length of the block; its name in the folder, empty for no bytes. Raises HostFault."""
        if not data:
            yield ""
            return
        file = self.path / f"{secrets.token_hex(8)}.in"
        try:
            with host_faults("write", file):
                file.write_bytes(data)
            yield file.name
        finally:
            _drop(file)

    @contextmanager
    def taking(self, target: Path) -> Iterator[str]:
        """A name in the folder for what is to be appended to the target. Raises HostFault."""
        link = self.path / f"{secrets.token_hex(8)}.out"
        with host_faults("write", target):
            target.touch()
            linked = _link(target, link)
        try:
            yield link.name
            if not linked:
                with host_faults("write", target):
                    _append(link, target)
        finally:
            _drop(link)


def _drop(path: Path) -> None:
    """An agent that was root may have removed it, or locked us out, which :meth:`Spool.clear` undoes."""
    with suppress(OSError):
        path.unlink()


def _link(target: Path, link: Path) -> bool:
    try:
        os.link(target, link)
    except OSError:
        link.touch(mode=0o600)
        return False
    return True


def _append(source: Path, target: Path) -> None:
    """The warden's folder may have been seen by an agent that is root: follow nothing."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as read, target.open("ab") as write:
        shutil.copyfileobj(read, write)
