"""A scenario's ``usage.jsonl``: one line for each request to its model. Documented in docs/formats.md.

Lines are written when requests end, and not forced to the disk one by one: a power cut may cost the last of them, a crash of ours none. A torn last line is
left out when read, and cut off when written on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import cattrs

from scenario_store.atomic import host_faults, write_all
from stamina.errors import InputError
from stamina.usage import ModelRequest

NAME: Final = "usage.jsonl"

_CONVERTER: Final = cattrs.Converter(forbid_extra_keys=False)


def append_request(folder: Path, request: ModelRequest) -> None:
    """Add a line, or nothing. Raises HostFault."""
    line = json.dumps(_CONVERTER.unstructure(request), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with host_faults("write", folder / NAME), (folder / NAME).open("ab", buffering=0) as file:
        size = file.tell()
        try:
            write_all(file.fileno(), line)
        except OSError:
            file.truncate(size)
            raise


def read_requests(folder: Path) -> Iterator[ModelRequest]:
    """All requests of a scenario, in the order in which they ended. Raises InputError for a line in the middle that cannot be read, HostFault."""
    path = folder / NAME
    with host_faults("read", path):
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines[:-1], 1):
        yield _request(path, number, line)


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


def _request(path: Path, number: int, line: bytes) -> ModelRequest:
    try:
        data: Any = json.loads(line)
        return _CONVERTER.structure(data, ModelRequest)
    except (ValueError, KeyError, TypeError, attrs.exceptions.NotAnAttrsClassError, cattrs.BaseValidationError) as error:
        raise InputError(f"{path}, line {number}: this is no record of a request to a model. Put back a copy of the file") from error
