"""Whole files that are there or not there, never half: written beside, synced, renamed.

Every write of the store goes through this page or through :mod:`scenario_store.journal`, so a full disk is one kind of error everywhere:
:class:`stamina.errors.HostFault`, with nothing half-written left behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from stamina.errors import HostFault


@contextlib.contextmanager
def host_faults(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a HostFault that says what was being done, and to which file."""
    try:
        yield
    except OSError as error:
        raise HostFault(f"cannot {doing} {path}: {error.strerror or error}") from error


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one call of the system may take less than it was given. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet, durably. Raises FileExistsError, or OSError with the file removed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file in one step: a reader, or a crash at any moment, sees the old content or the new. Raises HostFault; then the old content stands."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with host_faults("write", path):
        write_new(beside, data)
        try:
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
