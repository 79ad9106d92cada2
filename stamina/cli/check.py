"""``stamina check``: play one suite against any server."""

from __future__ import annotations

import socket
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import trio

from actors.tester import TesterLimits, run_suite
from stamina.cli.console import json_option, print_json, safe
from stamina.cli.ending import DONE, NEGATIVE
from stamina.cli.material import material, options_of_material
from stamina.errors import InputError
from stamina.suite import CaseResult, CaseStatus, Verdict
from stamina.words import counted


@click.command()
@options_of_material
@click.option("--url", required=True, help="Where the server listens, such as http://127.0.0.1:8000. It is emptied: every case begins with POST /reset.")
@click.option("--answer-seconds", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True, help="Limit of one answer.")
@json_option
def check(*, seed: int | None, turn: int, state_file: Path | None, url: str, answer_seconds: float, as_json: bool, **given: Any) -> int:
    """Play the tests of one state against a server. Exit 1 when cases fail."""
    address = address_of(url)
    suite = material(seed, turn, state_file, given).suite
    _check_known(url, address)
    verdict = trio.run(partial(run_suite, suite, address, TesterLimits(answer_seconds=answer_seconds)))
    if as_json:
        print_json(verdict_json(verdict))
    else:
        _print(verdict)
    return DONE if verdict.ok else NEGATIVE


def address_of(url: str) -> tuple[str, int]:
    """Host and port of an address. Raises :class:`InputError`."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"--url {url}: {error}") from error
    if parts.scheme != "http" or not host or parts.path not in ("", "/") or parts.query:
        raise InputError(f"--url {url}: expected an address such as http://127.0.0.1:8000 (plain HTTP, no path)")
    return host, 80 if port is None else port


def _check_known(url: str, address: tuple[str, int]) -> None:
    """A name that nobody knows is a slip of the pen, not a server that fails. Raises :class:`InputError`."""
    try:
        socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--url {url}: the name {address[0]} does not resolve ({error}); nothing was tested") from error


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """``passed``, ``total`` and one entry for each case that did not pass."""
    failed = [result for result in verdict.results if result.status is not CaseStatus.PASSED]
    return {"passed": verdict.passed, "total": verdict.total, "failed": [_case_json(result) for result in failed]}


def _case_json(result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {"case": case.name, "family": case.family, "rule": ", ".join(case.rules), "title": case.title, "message": _message(result)}


def _message(result: CaseResult) -> str:
    if result.failure is None:
        return result.reason
    request = result.failure.request
    return f"{request.method} {request.path}: {result.failure.message}"


def _print(verdict: Verdict) -> None:
    for result in verdict.results:
        if result.failure is not None:
            click.echo(f"{result.case.name} ({', '.join(result.case.rules)}): {result.case.title}\n    {safe(_message(result))}")
    unplayed = Counter(result.reason for result in verdict.results if result.status is not CaseStatus.PASSED and result.failure is None)
    for reason, count in unplayed.items():
        click.echo(f"{counted(count, 'case')}: {safe(reason)}")  # their list would hide what was played
    click.echo(f"{verdict.passed} of {counted(verdict.total, 'case')} passed")
