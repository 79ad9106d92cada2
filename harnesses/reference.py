"""The ``reference`` harness: an agent without a model that reads only the text it is given. It shows that the text is complete."""

from __future__ import annotations

import io
import json
import signal
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs

from harnesses.harness import CallContext, CallEnd, CallReport, Command, Harness, Program
from harnesses.registry import Registration
from stamina.config.model import HarnessInfo
from stamina.outcome import Cause

PROGRAM: Final = PurePosixPath(".reference-agent/agent.pyz")
"""Where the agent lies, in HOME."""

_PACKAGE: Final = "harnesses.reference_agent"
_ENTRY: Final = f"import sys\n\nfrom {_PACKAGE}.__main__ import main\n\nsys.exit(main())\n"
_LONGEST_LINE: Final = 1 << 20


@cache
def program() -> bytes:
    """The agent as one file that ``python3`` runs: a zip archive of its package, the same bytes each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in _members():
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content)
    return packed.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _ENTRY.encode()
    yield "harnesses/__init__.py", b""
    sources = sorted((each for each in files(_PACKAGE).iterdir() if each.name.endswith(".py")), key=lambda each: each.name)
    yield from ((f"harnesses/reference_agent/{each.name}", each.read_bytes()) for each in sources)


@attrs.frozen
class ReferenceHarness(Harness):
    """See the module. It needs ``python3`` (3.11 or later) in the sandbox and nothing else."""

    @property
    def name(self) -> str:
        """See :class:`Harness`."""
        return "reference"

    @property
    def uses_model(self) -> bool:
        """See :class:`Harness`."""
        return False

    @property
    def program(self) -> Program | None:
        """See :class:`Harness`."""
        return None

    def command(self, context: CallContext) -> Command:
        """See :class:`Harness`."""
        arguments = () if context.session is None else ("--session", context.session)
        return Command(
            argv=("python3", "-I", str(context.home / PROGRAM), *arguments),
            stdin=context.prompt.encode(),
            files={PROGRAM: program()},
        )

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """See :class:`Harness`."""
        events = list(_events(end.stdout))
        session = next((event["session"] for event in events if event["type"] == "session" and isinstance(event.get("session"), str)), context.session)
        detail = _failure(end, finished=bool(events) and events[-1]["type"] == "done")
        return CallReport(not detail, Cause.HARNESS if detail else None, detail, session)


def _failure(end: CallEnd, *, finished: bool) -> str:
    """Why the call did not complete, empty when it did."""
    if end.expired is not None:
        return f"ended by us after {end.seconds:.0f} s: its {end.expired} clock ran out"
    if end.signal is not None:
        return f"ended by signal {end.signal} ({_signal_name(end.signal)})"
    if end.exit_code != 0:
        return f"exit code {end.exit_code}: {_last_line(end.stderr) or 'nothing on stderr'}"
    return "" if finished else "exit code 0, but no done event at the end of its output"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects with a type among the lines of a file; anything else is passed over."""
    for line in _lines(path):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            yield event


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that may be missing or hold anything, cut to a bearable length."""
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE):
                yield line
    except OSError:
        return


def _last_line(path: Path) -> str:
    last = b""
    for line in _lines(path):
        last = line.strip() or last
    return last.decode("utf-8", errors="replace")[:500]


REGISTRATION: Final = Registration(HarnessInfo("reference", uses_model=False), lambda agent: ReferenceHarness())
