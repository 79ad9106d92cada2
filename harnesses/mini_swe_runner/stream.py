"""What happens, as JSON lines on the process's own stdout; whatever else prints there (litellm does) goes to stderr."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any, BinaryIO


class Stream:
    """Lines for whoever started the runner.

    Args:
        file: where they go; unbuffered, so that a line is out before the next step begins.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def tell(self, event: str, **fields: Any) -> None:
        """One event."""
        self._file.write(json.dumps({"type": event, **fields}).encode() + b"\n")


def take_stdout() -> Stream:
    """Keep stdout for events alone."""
    sys.stdout.flush()
    file = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return Stream(file)


class RetryTeller(logging.Handler):
    """Tells of each repetition of a model request, which mini-swe-agent only logs."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        self._stream.tell("retry", reason=record.getMessage()[:500])
