"""A small program that outlives a SIGKILL of ours: ``python -I -S reaper.py HOST SWEEP`` removes a sweep's containers and network when its stdin closes.

Its stdin is a pipe that we hold the other end of. ``goodbye`` on it means that all is removed already. Nothing is imported but the standard library's smallest
parts, as it lives as long as a sweep does.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import time
from urllib.parse import quote

LABEL = "stamina.sweep"
SECONDS = 120.0
"""How long it tries: an engine that is being restarted comes back."""

QUIET = 2.0
"""A call that was in flight when we were killed may still make something: look again after so many seconds."""

STARTING = 10.0
"""How long containers that are made but not started are left alone: removed while they are being started, they leave their network unusable for ever."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=30)
        self.path = path

    def connect(self) -> None:
        """See :class:`http.client.HTTPConnection`."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection(host: str) -> http.client.HTTPConnection:
    """To the engine."""
    if host.startswith("unix://"):
        return UnixConnection(host.removeprefix("unix://"))
    return http.client.HTTPConnection(host.partition("://")[2], timeout=30)


def ask(host: str, method: str, path: str) -> bytes:
    """One call. Raises OSError when it does not succeed."""
    link = connection(host)
    try:
        link.request(method, f"/v1.40{path}")
        answer = link.getresponse()
        body = answer.read()
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        link.close()
    if answer.status not in (200, 204, 404):
        raise OSError(f"{method} {path}: {answer.status}")
    return body


def listed(host: str, kind: str, sweep: str) -> list[tuple[str, str]]:
    """The ids and states of a sweep's containers or networks."""
    filters = quote(json.dumps({"label": [f"{LABEL}={sweep}"]}))
    return [(each["Id"], each.get("State", "")) for each in json.loads(ask(host, "GET", f"/{kind}?all=1&filters={filters}"))]


def clean(host: str, sweep: str, *, patient: bool) -> int:
    """Remove what there is; how much there was. Raises OSError. ``patient``: leave alone what may be about to start."""
    containers, networks = listed(host, "containers/json", sweep), listed(host, "networks", sweep)
    for container, state in containers:
        if not (patient and state in ("created", "configured", "initialized")):
            ask(host, "DELETE", f"/containers/{container}?force=1&v=1")
    for network, _ in networks:
        ask(host, "DELETE", f"/networks/{network}")
    return len(containers) + len(networks)


def clean_all(host: str, sweep: str) -> None:
    """Remove everything, until twice nothing was found."""
    begun = time.monotonic()
    quiet = 0
    while quiet < 2 and (passed := time.monotonic() - begun) < SECONDS:
        found = 1
        with contextlib.suppress(OSError, ValueError):
            found = clean(host, sweep, patient=passed < STARTING)
        quiet = 0 if found else quiet + 1
        time.sleep(QUIET / 4 if found else QUIET)


def main() -> None:
    """Wait for the end of our stdin, then clean unless told that all is well."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    heard = b""
    while data := os.read(0, 4096):
        heard += data
    if heard.strip() != b"goodbye":
        clean_all(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
