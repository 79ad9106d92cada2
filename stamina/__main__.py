"""``python -m stamina``, and the ``stamina`` command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

INTERRUPTED = 130
"""As in :mod:`stamina.cli.ending`, which is not loaded yet when it is needed here."""
OURS = ("stamina", "actors", "harnesses", "scenario_store")


def main() -> None:
    """Runs the command line and exits with its code."""
    sys.exit(_command_line()())


def _command_line() -> Callable[[], int]:
    """Loading takes a second or two: a Ctrl-C in it ends the program like any other, without a traceback."""
    handler = signal.signal(signal.SIGINT, lambda *_: sys.exit(INTERRUPTED))
    try:
        from stamina.cli.app import main as run_command_line
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in OURS:
            raise
        sys.exit(f"stamina: the package {error.name} is not installed here: run `make setup`, then use .venv/bin/python, or `. .venv/bin/activate`")
    finally:
        signal.signal(signal.SIGINT, handler)
    return run_command_line


if __name__ == "__main__":
    main()
