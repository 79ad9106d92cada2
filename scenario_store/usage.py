"""A scenario's ``usage.jsonl``: one line for each request to its model; and ``asked.jsonl``: one for each that went to a provider. See docs/formats.md.

Lines are written when requests end, and go, and not forced to the disk one by one: a power cut may cost the last of them, a crash of ours none. A torn last
line is left out when read, and cut off when written on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import cattrs

from scenario_store.atomic import host_faults, write_all
from stamina.errors import InputError
from stamina.usage import Begun, ModelRequest

NAME: Final = "usage.jsonl"
ASKED: Final = "asked.jsonl"

T = TypeVar("T")

_CONVERTER: Final = cattrs.Converter(forbid_extra_keys=False)


def append_request(folder: Path, request: ModelRequest) -> None:
    """Add a line, or nothing. Raises HostFault."""
    _append(folder / NAME, request)


def append_begun(folder: Path, begun: Begun) -> None:
    """Add a line, or nothing. Raises HostFault."""
    _append(folder / ASKED, begun)


def _append(path: Path, value: ModelRequest | Begun) -> None:
    line = json.dumps(_CONVERTER.unstructure(value), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with host_faults("write", path), path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            write_all(file.fileno(), line)
        except OSError:
            file.truncate(size)
            raise


def read_requests(folder: Path) -> Iterator[ModelRequest]:
    """All requests of a scenario, in the order in which they ended. Raises InputError for a line in the middle that cannot be read, HostFault."""
    yield from _lines(folder / NAME, ModelRequest)


def lost_requests(folder: Path) -> list[ModelRequest]:
    """Those that were under way when we were killed; while the scenario is played, those that are under way. Raises InputError, HostFault."""
    begun = list(_lines(folder / ASKED, Begun))
    ended = {request.number for request in read_requests(folder)} if begun else set()
    return [each.lost() for each in begun if each.number not in ended]


def settle(folder: Path) -> None:
    """Write down what was lost when we were killed, before the scenario is played on. Raises InputError, HostFault."""
    mend(folder)
    for request in lost_requests(folder):
        append_request(folder, request)
    with host_faults("remove", folder / ASKED):
        (folder / ASKED).unlink(missing_ok=True)


def mend(folder: Path) -> None:
    """Cut off a torn last line, before more is appended. Raises HostFault."""
    path = folder / NAME
    with host_faults("repair", path):
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)


def _lines(path: Path, kind: type[T]) -> Iterator[T]:
    with host_faults("read", path):
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines[:-1], 1):
        yield _read(path, number, line, kind)


def _read(path: Path, number: int, line: bytes, kind: type[T]) -> T:
    try:
        data: Any = json.loads(line)
        return _CONVERTER.structure(data, kind)
    except (ValueError, KeyError, TypeError, attrs.exceptions.NotAnAttrsClassError, cattrs.BaseValidationError) as error:
        raise InputError(f"{path}, line {number}: this is no record of a request to a model. Put back a copy of the file") from error
