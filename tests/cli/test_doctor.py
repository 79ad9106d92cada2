"""``doctor``: findings, and what they mean for the exit code."""

import importlib.metadata
import json
import socket
import tempfile
import threading

import pytest
from click.testing import CliRunner

from stamina.cli import doctor as module
from stamina.cli.doctor import Finding, Health, doctor, engine, other_stamina


def test_this_machine_can_play() -> None:
    """Everything that a run needs is found here."""
    result = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    findings = {finding["name"]: finding["health"] for finding in json.loads(result.stdout)}

    assert {name: findings[name] for name in ("Python", "bash", "ports", "package names")} == dict.fromkeys(("Python", "bash", "ports", "package names"), "ok")


def test_a_failed_finding_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning is not."""
    monkeypatch.setattr(module, "CHECKS", (lambda: Finding("x", Health.WARNING, ""),))
    assert CliRunner().invoke(doctor, [], standalone_mode=False).return_value == 0

    monkeypatch.setattr(module, "CHECKS", (lambda: Finding("x", Health.FAILED, "broken"),))
    result = CliRunner().invoke(doctor, [], standalone_mode=False)
    assert result.return_value == 1
    assert "broken" in result.stdout


def test_notices_the_other_stamina(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of that name would take our import name."""
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "25.1.0")

    assert other_stamina().health is Health.FAILED


def test_an_engine_answers_its_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the socket that DOCKER_HOST names."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as server:  # no long path fits into a socket's address
        path = f"{folder}/engine.sock"
        server.bind(path)
        server.listen()

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(b"HTTP/1.0 200 OK\r\n\r\nOK")

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        assert engine().health is Health.OK
        thread.join()


def test_no_engine_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps of trusted agents need none."""
    monkeypatch.setattr(module, "_sockets", lambda: iter(["/nowhere"]))

    assert engine().health is Health.WARNING
