"""What both kinds of sandbox share of starting an agent's server (contract L1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

SCRIPT: Final = "run_server.sh"

FIRST_PAUSE: Final = 0.02
"""Seconds between two looks at a server that starts; the pause grows to :data:`LONGEST_PAUSE`."""

LONGEST_PAUSE: Final = 0.25

_TAIL: Final = 4096


def has_script(workspace: Path) -> bool:
    """Whether there is anything of that name."""
    return os.path.lexists(workspace / SCRIPT)


def longer(pause: float) -> float:
    """The pause after this one."""
    return min(pause * 1.5, LONGEST_PAUSE)


def too_late(seconds: float) -> str:
    """Why a server that was waited for so long did not come up."""
    return f"the server did not answer HTTP within {seconds:g} s"


def too_early(code: int | None) -> str:
    """Why a server of which nothing is left did not come up; ``code`` is the script's, negative for a signal, None when its end was not seen."""
    how = "its end was not seen" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
    return f"{SCRIPT} ended before the server answered ({how})"


def tail(log: Path) -> str:
    """The end of a server's output."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        return file.read(_TAIL).decode(errors="replace")
