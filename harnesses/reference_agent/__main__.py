"""The agent's command: the prompt on stdin, the workspace as the current directory, JSON lines on stdout.

The events are ``session`` with the id to go on with, ``message`` with what the agent has to say, and ``done`` as the last one when the work is done:
without it, it is not. A text that cannot be read ends the program with exit code 1 and the reason on stderr.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from harnesses.reference_agent import failures
from harnesses.reference_agent.learning import take_in
from harnesses.reference_agent.mistakes import flawed_files
from harnesses.reference_agent.orders import Orders, orders_for
from harnesses.reference_agent.session import Session, load
from harnesses.reference_agent.specification_reader import FILE
from harnesses.reference_agent.text import Unreadable
from harnesses.reference_agent.writer import write_atomically

SESSION_FILE = Path(".reference-agent", "session.json")


def emit(kind: str, **values: str | int) -> None:
    """One event on stdout."""
    print(json.dumps({"type": kind, **values}), flush=True)


def main() -> int:
    """Do what the prompt asks; the exit code."""
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        work(prompt, Path(os.environ["HOME"]) / SESSION_FILE, expected_session(sys.argv[1:]))
    except (Unreadable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def expected_session(arguments: list[str]) -> str | None:
    """The id behind ``--session``. Raises :class:`Unreadable` for other arguments."""
    if not arguments:
        return None
    if len(arguments) != 2 or arguments[0] != "--session":
        raise Unreadable(f"usage: reference-agent [--session ID], not {arguments}")
    return arguments[1]


def work(prompt: str, path: Path, expected: str | None) -> None:
    """One call from beginning to end."""
    session = session_for(prompt, path, expected)
    emit("session", session=session.session)
    orders = orders_for(session.session)
    if orders.idle:
        emit("message", text="There is nothing to do.")
        session.save(path)  # the next prompt may be about what was not done
    else:
        emit("message", text=take_in(prompt, session, orders))
        session.save(path)
        write_server(session, orders)
        session.save(path)
    if orders.failure != "silent":
        emit("done", requests=len(session.requests))


def session_for(prompt: str, path: Path, expected: str | None) -> Session:
    """The session to go on with: a new one for the opening prompt. Raises :class:`Unreadable` when there is none that fits."""
    if f"`{FILE}`" in prompt.partition("\n")[0]:
        return Session.begun(Path(FILE).read_text(encoding="utf-8"))
    session = load(path)
    if session is None:
        raise Unreadable(f"prompt:1: expected a prompt that names {FILE}, for there is no session yet: {prompt.partition(chr(10))[0]!r}")
    if expected not in (None, session.session):
        raise Unreadable(f"there is no session {expected}, only {session.session}")
    return session


def write_server(session: Session, orders: Orders) -> None:
    """Write all files; a failure that was ordered comes behind the first of them."""
    files = flawed_files(session)
    for number, (name, text) in enumerate(files.items()):
        if number == 1:
            failures.fail(orders)
        write_atomically(Path(name), text)
    emit("message", text=f"Wrote {', '.join(files)}.")


if __name__ == "__main__":
    sys.exit(main())
