"""``python -m stamina``, and the ``stamina`` command."""

from __future__ import annotations

import sys

from stamina.cli.app import main as run_command_line


def main() -> None:
    """Runs the command line and exits with its code."""
    sys.exit(run_command_line())


if __name__ == "__main__":
    main()
