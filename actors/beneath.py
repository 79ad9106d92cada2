"""Read and write files in a folder that belongs to an agent: no symlink is ever followed, nothing but a regular file is ever opened.

Each step of a path is opened relative to the one before (``openat`` with ``O_NOFOLLOW``), so a folder swapped for a link in between leads nowhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from stamina.errors import SandboxFault

Owner: TypeAlias = tuple[int, int]
"""A user's and a group's number."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_beneath(root: Path, relative: PurePosixPath, limit: int) -> bytes | None:
    """The file's content; None when there is no such regular file, it is larger than ``limit`` bytes, or cannot be read."""
    try:
        with _folder(root, relative.parts[:-1], make=False) as folder:
            descriptor = os.open(relative.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with open(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def write_beneath(root: Path, relative: PurePosixPath, data: bytes, *, owner: Owner | None = None) -> None:
    """Make the file hold exactly this; whatever stands in the way (a link, a folder, a FIFO) is removed. Raises SandboxFault when the disk refuses.

    ``owner``: whom the file, and the folders that had to be made for it, belong to; by default us.
    """
    try:
        with _folder(root, relative.parts[:-1], make=True, owner=owner) as folder:
            remove_at(folder, relative.name)
            descriptor = os.open(relative.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
            with open(descriptor, "wb") as file:
                file.write(data)
                _give(descriptor, owner)
    except OSError as error:
        raise SandboxFault(f"{relative} cannot be written in the agent's folder: {error.strerror}") from error


def empty(root: Path) -> None:
    """Remove all that is in a folder of ours, and let nobody but us into it. Raises OSError."""
    folder = _opened(root, None, unlock=True)
    try:
        os.fchmod(folder, stat.S_IRWXU)
        with os.scandir(folder) as entries:
            for entry in entries:
                remove_at(folder, entry.name)
    finally:
        os.close(folder)


def remove_at(folder: int, name: str) -> None:
    """Remove what has this name in an open folder, whatever it is; nothing is no error. Links are removed, not followed."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        _remove_tree(folder, name)


def _remove_tree(folder: int, name: str) -> None:
    """However deep: what lies in a folder is moved up beside it, level by level, so no path and no stack grows with it."""
    waiting = [name]
    while waiting:
        inner = _opened(waiting[-1], folder, unlock=True)
        try:
            with os.scandir(inner) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        beside = f".{secrets.token_hex(8)}"
                        os.rename(entry.name, beside, src_dir_fd=inner, dst_dir_fd=folder)
                        waiting.insert(-1, beside)
                    else:
                        os.unlink(entry.name, dir_fd=inner)
        finally:
            os.close(inner)
        os.rmdir(waiting.pop(), dir_fd=folder)


@contextlib.contextmanager
def _folder(root: Path, parts: tuple[str, ...], *, make: bool, owner: Owner | None = None) -> Iterator[int]:
    descriptor = _opened(root, None, unlock=make)
    try:
        for part in parts:
            inner = _enter(descriptor, part, make=make, owner=owner)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(folder: int, name: str, *, make: bool, owner: Owner | None) -> int:
    if name == "..":
        raise OSError(0, "the path leads out of the folder")
    with contextlib.suppress(OSError):
        return _opened(name, folder, unlock=make)
    if make:
        remove_at(folder, name)
        os.mkdir(name, dir_fd=folder)
    inner = os.open(name, _FOLDER, dir_fd=folder)
    if make:
        _give(inner, owner)
    return inner


def _opened(name: str | Path, folder: int | None, *, unlock: bool) -> int:
    """Open a folder. ``unlock``: also one from which its owner has locked itself out; nothing of the agent runs now that could swap it."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        if not unlock or not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
    os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _give(descriptor: int, owner: Owner | None) -> None:
    if owner is not None:
        os.fchown(descriptor, *owner)
