"""Engines that cannot be used: one message that says what to run, exit 2, and nothing is made."""

from __future__ import annotations

import json
import os
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from actors import containers
from harnesses.recipes import BASE, recipe, warden_digest
from stamina.cli.app import main

SWEEP = Path(__file__).parents[2] / "sweeps/quickstart-docker.toml"
ABOUT = {"ApiVersion": "1.41", "Version": "20.10.0", "Arch": "amd64", "Components": []}
IMAGE = {
    "Id": "sha256:1",
    "RepoTags": ["stamina/base:1"],
    "Architecture": "amd64",
    "Config": {"Labels": {"stamina.image": BASE, "stamina.recipe": recipe(BASE).digest}, "Env": []},
    "Created": "2026-01-01T00:00:00Z",
    "Size": 1,
}


@contextmanager
def engine(about: dict[str, Any], info: dict[str, Any], images: dict[str, Any]) -> Iterator[str]:
    """An engine that knows what it is and which images it has, and makes nothing; the address of its socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].split("/", 2)[-1] if self.path.startswith("/v") and self.path != "/version" else self.path.strip("/")
            answers = {"version": about, "info": info, "images/json": list(images.values()), **{f"images/{name}/json": image for name, image in images.items()}}
            found = answers.get(path)
            body = json.dumps(found if found is not None else {"message": "no such thing"}).encode()
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            raise AssertionError("something is made")

        def address_string(self) -> str:
            return "us"

        def log_message(self, *given: object) -> None:
            pass

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = f"{folder}/engine.sock"
        with socketserver.ThreadingUnixStreamServer(path, Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"unix://{path}"
            finally:
                server.shutdown()
                thread.join()


def refused(host: str, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *settings: str) -> str:
    """What ``stamina run`` says; it made nothing."""
    monkeypatch.setenv("DOCKER_HOST", host)
    monkeypatch.setenv("XDG_CACHE_HOME", str(out.parent / "cache"))
    flags = [part for setting in settings for part in ("--set", setting)]

    assert main(["run", str(SWEEP), "--out", str(out), *flags]) == 2
    assert not out.exists()
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No socket at all; an address that is none."""
    said = refused(f"unix://{tmp_path}/none.sock", tmp_path / "run", monkeypatch, capsys)
    assert "no container engine here" in said
    assert "scripts/engine" in said
    assert "unix:///path/to/socket" in refused("ssh://host", tmp_path / "run", monkeypatch, capsys)


def test_an_engine_that_is_not_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its socket is there, and nobody behind it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "engine.sock").touch()
        said = refused(f"unix://{folder}/engine.sock", tmp_path / "run", monkeypatch, capsys)
    assert "does not answer; is it running?" in said


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the group, and the other way out."""
    access = os.access
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = f"{folder}/engine.sock"
        Path(path).touch()  # root may use any socket: this one it cannot reach either
        monkeypatch.setattr(os, "access", lambda asked, mode, **more: asked != path and access(asked, mode, **more))
        said = refused(f"unix://{path}", tmp_path / "run", monkeypatch, capsys)
    assert "no permission to use the engine" in said
    assert "usermod -aG docker" in said


def test_an_engine_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What it speaks, and what is needed."""
    with engine({**ABOUT, "ApiVersion": "1.39", "Version": "18.09"}, {}, {}) as host:
        assert "docker 18.09 speaks API 1.39, 1.40 (Docker 19.03) is needed" in refused(host, tmp_path / "run", monkeypatch, capsys)


def test_images_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours are to be built, others to be pulled; one of another version is none."""
    old = {**IMAGE, "Config": {"Labels": {"stamina.image": BASE, "stamina.recipe": "x"}, "Env": []}}
    with engine(ABOUT, {}, {}) as host:
        assert "run: stamina images build base" in refused(host, tmp_path / "run", monkeypatch, capsys)
    with engine(ABOUT, {}, {"sha256:1": old}) as host:
        assert "is of another version of stamina; run: stamina images build base" in refused(host, tmp_path / "run", monkeypatch, capsys)


def test_an_image_for_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are named."""
    cache = tmp_path / "cache" / "stamina"
    cache.mkdir(parents=True)
    (cache / f"warden-{warden_digest()[:16]}-arm64").touch()
    with engine({**ABOUT, "Arch": "arm64"}, {}, {"sha256:1": IMAGE}) as host:
        assert "is for amd64, the engine's machine is arm64" in refused(host, tmp_path / "run", monkeypatch, capsys)


def test_a_disk_below_the_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine's own."""
    monkeypatch.setattr(containers, "DISK_FLOOR", 1 << 60)
    with engine(ABOUT, {"DockerRootDir": str(tmp_path)}, {}) as host:
        said = refused(host, tmp_path / "run", monkeypatch, capsys)
    assert f"MiB are free where the engine keeps containers ({tmp_path})" in said
    assert "stamina gc" in said


def test_another_user_where_nothing_can_be_given_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its agents could not write into their own workspace."""
    monkeypatch.setattr("actors.container.os.getuid", lambda: 1234)
    with engine(ABOUT, {}, {"sha256:1": IMAGE}) as host:
        said = refused(host, tmp_path / "run", monkeypatch, capsys, 'sandbox.user="4321"')
    assert 'user = "4321:4321": only root can give files to another user, and you are 1234' in said


def test_podman_in_a_virtual_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It would let everything out, whatever the sweep says."""
    monkeypatch.setattr(containers, "is_direct", lambda host: False)
    with engine({**ABOUT, "Components": [{"Name": "Podman Engine"}]}, {}, {"sha256:1": IMAGE}) as host:
        said = refused(host, tmp_path / "run", monkeypatch, capsys)
    assert 'egress = "none": Podman cannot keep containers from the outside' in said
    assert 'Use egress = "open", Docker' in said


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("sandbox.runtime=runsc", "the engine has runc"),
        ("sandbox.user=bob", 'user = "bob": expected "root"'),
        ('sandbox.docker_args={ PidMode = "host" }', "docker_args: PidMode is decided by the sandbox"),
        ("sandbox.egress=registries", "no registry is named"),
    ],
)
def test_settings_that_cannot_be(setting: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Told before anything is made."""
    monkeypatch.delenv("STAMINA_EGRESS_ALLOW", raising=False)
    cache = tmp_path / "cache" / "stamina"
    cache.mkdir(parents=True)
    (cache / f"warden-{warden_digest()[:16]}-amd64").touch()
    with engine(ABOUT, {"Runtimes": {"runc": {}}}, {"sha256:1": IMAGE}) as host:
        said = refused(host, tmp_path / "run", monkeypatch, capsys, "sandbox.user=root", setting)
    assert words in said
