"""What both kinds of sandbox share of starting an agent's server (contract L1)."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

SCRIPT: Final = "run_server.sh"

FIRST_PAUSE: Final = 0.02
"""Seconds between two looks at a server that starts; the pause grows to :data:`LONGEST_PAUSE`."""

LONGEST_PAUSE: Final = 0.25

_TAIL: Final = 4096
_NO_SCRIPTS: Final = ((stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))


def no_script(workspace: Path) -> str | None:
    """Why there is nothing to start, None when there is. A link may lead to a script inside, which cannot be looked at from here."""
    try:
        mode = (workspace / SCRIPT).lstat().st_mode
    except FileNotFoundError:
        return f"there is no {SCRIPT} in the workspace"
    except OSError:  # a workspace that its owner has locked is unlocked for the script
        return None
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return None
    what = next((name for is_one, name in _NO_SCRIPTS if is_one(mode)), "device")
    return f"{SCRIPT} is no script: it is a {what}"


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
