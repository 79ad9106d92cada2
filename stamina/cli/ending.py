"""How a command ends: what goes to stderr, and the exit code.

0 done; 1 the verb's own negative; 2 bad input; 130 interrupted. Bad input never shows a traceback; a bug shows a short message and leaves its traceback
in a file.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

import click

from stamina.errors import StaminaError

DONE: Final = 0
NEGATIVE: Final = 1
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130


class Traces:
    """Where the traceback of a bug goes: the run's folder once a command has one; and what takes secrets out of it, once a command knows any."""

    folder: Path | None = None
    redact: Callable[[str], str] = str


def ended(command: Callable[[], object]) -> int:
    """Run a command to its end, and the exit code that follows. That nobody reads its messages any more does not change it."""
    code = _ended(command)
    try:
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)
    return code


def _ended(command: Callable[[], object]) -> int:
    try:
        code = command()
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BaseException as error:
        if _nobody_reads(error):
            return _silenced()
        try:
            return _failed(error)
        except OSError as gone:
            if _nobody_reads(gone):
                return _silenced()
            raise


def _nobody_reads(error: BaseException) -> bool:
    """Whether our output's reader has gone, or its terminal has closed."""
    return isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EIO) and error.filename is None


def _silenced() -> int:
    for stream in (sys.stdout, sys.stderr):
        _silence(stream)
    return NEGATIVE


def _silence(stream: TextIO) -> None:
    """Python's own flush at exit must not complain about a reader that has gone: it would make the exit code 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _failed(error: BaseException) -> int:
    """Errors come alone or, from a nursery, in groups."""
    leaves = list(_leaves(error))
    if any(isinstance(leaf, KeyboardInterrupt | click.Abort) for leaf in leaves):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    if all(isinstance(leaf, SystemExit) for leaf in leaves):
        raise error
    if all(isinstance(leaf, StaminaError) for leaf in leaves):
        for message in dict.fromkeys(map(str, leaves)):
            click.echo(message, err=True)
        return BAD_INPUT
    _confess(error)
    return NEGATIVE


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _confess(error: BaseException) -> None:
    """A bug of ours: one line for the user, the traceback for whoever mends it."""
    text = Traces.redact("".join(traceback.format_exception(error)))
    click.echo(f"stamina has a bug ({type(error).__name__}: {Traces.redact(str(error))[:200]}).", err=True)
    if os.environ.get("STAMINA_DEBUG") == "1":
        click.echo(text, err=True)
        return
    try:
        descriptor, name = tempfile.mkstemp(".txt", "bug-", Traces.folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        click.echo(f"The traceback is in {name}; please report it. STAMINA_DEBUG=1 prints it instead.", err=True)
    except OSError:
        click.echo(text, err=True)
