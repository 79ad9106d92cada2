"""The file that a run's log goes to."""

from __future__ import annotations

import json
import os
from pathlib import Path

from scenario_store.atomic import host_faults


class LogFile:
    """Takes whole lines and appends them at once. A disk that takes none costs the lines and nothing else: a log is no reason to stop what is paid for.

    How many were lost stands in the log once there is room again.
    """

    def __init__(self, path: Path) -> None:
        """Raises HostFault when it cannot be opened."""
        with host_faults("open", path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._lost = 0
        self._torn = False

    def write(self, line: str) -> None:
        """Append one line. Never raises OSError."""
        if self._lost and self._put(json.dumps({"event": "log lines lost", "level": "warning", "count": self._lost}) + "\n"):
            self._lost = 0
        if self._lost or not self._put(line):
            self._lost += 1

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Give up the file."""
        os.close(self._descriptor)

    def _put(self, line: str) -> bool:
        """Whether the whole line is in the file; what there was of one that is not gets an end of its own."""
        data = ("\n" if self._torn else "").encode() + line.encode("utf-8", "replace")
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            return False
        self._torn = 0 < written < len(data) or (self._torn and not written)
        return written == len(data)
