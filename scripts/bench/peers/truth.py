"""The ground truth of a turn over HTTP, a fresh one for each connection, so that hundreds of suites can play at once. Run: truth.py SEED TURN PORT."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from fast import Handle, listen, response

from stamina.domain import ScenarioOptions
from stamina.exchange import NO_BODY, RawBody, Request, Response
from stamina.rest.domain import RestDomain
from stamina.rest.truth import Truth


def over(handler: Callable[[Request], Response]) -> Handle:
    """Bytes to requests and back."""

    def handle(head: bytes, body: bytes) -> bytes:
        method, path, _ = head.decode("latin-1").split(" ", 2)
        answer = handler(Request(method, path, RawBody(body) if body else NO_BODY))
        return response(answer.status, answer.body)

    return handle


def main() -> None:
    """Serve the turn on the port."""
    seed, turn, port = map(int, sys.argv[1:])
    state = RestDomain().scenario(ScenarioOptions(seed=seed)).state(turn)
    listen(port, lambda: over(Truth(state).handle))


if __name__ == "__main__":
    main()
