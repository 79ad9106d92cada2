"""Keys of every kind are planted; a container, its files, the run's folder and all that is printed have none, though the provider repeats them."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import attrs
import pytest

from actors.gateway.redact import SHOWN
from scenario_store.recording import Recording
from scenario_store.run import Run
from scenario_store.wire import NAME
from tests.cli.model_lab import Asked, Reply, provider
from tests.cli.test_processes import ROOT, command
from tests.docker.container_lab import ENGINE

pytestmark = pytest.mark.docker

SECONDS = 600.0
ENV_KEY = 'sk-lab/planted+key=0123456789&"quoted"%41~$'
AWS_ID = "AKIAPLANTED0123456789"
AWS_SECRET = "aws/planted+secret==9876543210"
AWS_TOKEN = "awstoken/planted+session//==555555555555"
PROFILE = "sk-ant-oat-planted-7777777777"
KEYS = (ENV_KEY, AWS_ID, AWS_SECRET, AWS_TOKEN, PROFILE)

KNOWN: set[str] = set()

AGENT = """
import json, os, pathlib, sys, urllib.error, urllib.request

told = []
for step in range(5):
    pathlib.Path("/tmp/told.json").write_text(json.dumps(told))
    body = {"model": os.environ["MODEL"], "max_tokens": 50, "stream": step == 1, "messages": [{"role": "user", "content": f"step {step}"}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["TOKEN"]}
    request = urllib.request.Request(os.environ["URL"] + os.environ["ASK"], json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            told.append([answer.status, str(answer.headers), answer.read().decode()])
    except urllib.error.HTTPError as error:
        told.append([error.code, str(error.headers), error.read().decode()])
told.append(dict(os.environ))
for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        told.append(place.read_bytes().decode(errors="replace"))
    except OSError:
        pass
pathlib.Path("told.json").write_text(json.dumps(told))
print(json.dumps({"type": "told", "what": told}))
print(told, file=sys.stderr)
print(json.dumps({"type": "done"}))
"""

CELL = """
[[agent]]
harness = "command"
name = "NAME"
model = "NAME"
protocol = "PROTOCOL"
first = ["python3", "{home}/agent.py", "{session}"]
session_given = true
variables = { URL = "{base_url}", TOKEN = "{token}", MODEL = "{model}", ASK = "ASKED" }
done_event = { type = "done" }
version_command = ["python3", "--version"]

[agent.files]
"agent.py" = '''AGENT'''
"""

SWEEP = f"""
[sweep]
name = "secrets"
seeds = "1"
turns = 0
retries = 0
concurrency = 1

[sandbox]
engine = "{ENGINE.value}"

[model.variable]
provider = "openai"
id = "vendor/real"
context_window = 100000
base_url = "http://127.0.0.1:PORT/v1"
api_key_env = "LAB_KEY"

[model.aws]
provider = "bedrock"
id = "vendor.real"
context_window = 100000
base_url = "http://127.0.0.1:PORT"

[model.profile]
provider = "anthropic"
id = "claude"
context_window = 100000
base_url = "http://127.0.0.1:PORT"
"""

CELLS = {
    "variable": ("chat", "/v1/chat/completions"),
    "aws": ("chat", "/v1/chat/completions"),
    "profile": ("messages", "/v1/messages"),
}


def sweep(port: int) -> str:
    cells = [CELL.replace("NAME", name).replace("PROTOCOL", protocol).replace("ASKED", path) for name, (protocol, path) in CELLS.items()]
    return SWEEP.replace("PORT", str(port)) + "".join(cells).replace("AGENT", AGENT)


def plant(home: Path) -> dict[str, str]:
    """Writes what signing in leaves on a disk; the environment of the run."""
    files = {
        ".aws/credentials": f"[planted]\naws_access_key_id = {AWS_ID}\naws_secret_access_key = {AWS_SECRET}\naws_session_token = {AWS_TOKEN}\n",
        ".aws/config": "[profile planted]\nregion = eu-west-1\n",
        ".config/anthropic/configs/default.json": json.dumps({"authentication": {"type": "user_oauth"}}),
        ".config/anthropic/credentials/default.json": json.dumps({"access_token": PROFILE}),
    }
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o600)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ANTHROPIC_"))}
    return {**kept, "HOME": str(home), "AWS_PROFILE": "planted", "LAB_KEY": ENV_KEY, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


def shapes(key: str) -> Iterator[str]:
    """What a key looks like: as it is, in a URL, in JSON (twice), in hex, and what base64 makes of it at each offset whatever stands around it."""
    raw = key.encode()
    yield from (key, quote(key), quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1], json.dumps(json.dumps(key))[3:-3], raw.hex())
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"x" * offset + raw).decode().rstrip("=")
            core = whole[(0, 2, 3)[offset] : (offset + len(raw)) * 8 // 6]
            yield core
            yield quote(core, safe="")


def echo(asked: Asked) -> str:
    """What a careless provider says: everything that it was sent by whomever up to now, and the secret that belongs to it, in all shapes."""
    sent = str(asked.headers)
    KNOWN.update(key for key in KEYS if key in sent or (key == AWS_SECRET and AWS_ID in sent))
    hidden = [base64.b64encode(before + key.encode() + b"!").decode() for key in sorted(KNOWN) for before in (b"", b"u", b"u:")]
    return " ".join([json.dumps(asked.headers), *(shape for key in sorted(KNOWN) for shape in shapes(key)), *hidden])


def careless(asked: Asked) -> Reply:
    """In an error, in a stream in two pieces, in a page of HTML with status 500, and in a good answer."""
    error = json.dumps({"error": {"message": echo(asked), "type": "invalid_request_error"}}).encode()
    match asked.body["messages"][0]["content"]:
        case "step 0":
            return Reply([error], 400, "application/json")
        case "step 1":
            event = b"data: " + error + b"\n\n"
            return Reply([event[:999], event[999:]])
        case "step 2":
            return Reply([f"<html>{echo(asked)}</html>".encode()], 500, "text/html")
        case _:
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "input_tokens": 9, "output_tokens": 9}
            return Reply([json.dumps({"text": echo(asked), "usage": usage}).encode()], 200, "application/json")


@attrs.define
class Looker:
    """Looks at the sweep's containers through the engine, while their agents wait for the provider."""

    host: str
    root: Path
    seen: dict[str, bytes] = attrs.field(factory=dict)

    def look(self) -> None:
        for container in self._json("/containers/json"):
            if not any(mount.get("Source", "").startswith(str(self.root)) for mount in container["Mounts"]):
                continue  # somebody else's
            name = container["Id"]
            self.seen[f"inspect {name}"] = self._get(f"/containers/{name}/json")
            changed = sorted(change["Path"] for change in self._json(f"/containers/{name}/changes") or [] if change["Kind"] != 2)
            for path, following in zip(changed, [*changed[1:], ""], strict=True):
                if not following.startswith(path + "/"):  # else it is a folder, changed by what is below
                    self._keep(name, path)

    def _keep(self, name: str, path: str) -> None:
        try:
            archive = self._get(f"/containers/{name}/archive?path={quote(path)}")
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                for member in tar:
                    if member.isfile() and (file := tar.extractfile(member)) is not None:
                        self.seen[f"{name}:{path}/{member.name}"] = file.read()
        except (tarfile.TarError, FileNotFoundError):
            return

    def _json(self, path: str) -> Any:
        return json.loads(self._get(path))

    def _get(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("engine", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.host.removeprefix("unix://"))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 404:
                raise FileNotFoundError(path)
            return body
        finally:
            connection.close()


def written(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below, and what is compressed in recordings."""
    for path in root.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
    for folder in Run.open(root).scenarios():
        recording = Recording.read(folder.path)
        for exchange in recording.exchanges:
            answer = recording.answer(exchange)
            yield f"{NAME}, request {exchange.at}", recording.body(exchange) + b"".join(data for _, data in answer.pieces) + repr((exchange, answer)).encode()


def test_no_key_is_in_a_container_or_in_what_is_written(host: str, tmp_path: Path) -> None:
    """By value, in a URL, in JSON, in hex and in base64 at any offset: of a variable, an AWS profile and an Anthropic profile on disk."""
    if not host.startswith("unix://"):
        pytest.fail("this test looks at containers through the engine's socket")
    looker = Looker(host, tmp_path.resolve())

    def answer(asked: Asked) -> Reply:
        if asked.body["messages"][0]["content"] == "step 4":
            looker.look()
        return careless(asked)

    with provider(answer) as (port, asked):
        (tmp_path / "secrets.toml").write_text(sweep(port))
        env = plant(tmp_path / "home")
        done = subprocess.run(command("run", "secrets.toml"), cwd=tmp_path, env=env, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()

    sent = " ".join(json.dumps(request.headers) for request in asked)
    assert all(json.dumps(key)[1:-1] in sent for key in (ENV_KEY, AWS_ID, AWS_TOKEN, PROFILE))
    assert len([name for name in looker.seen if name.startswith("inspect")]) == len(CELLS)
    assert len([name for name in looker.seen if name.endswith("told.json")]) == len(CELLS)

    found = [("stdout", done.stdout), ("stderr", done.stderr), *looker.seen.items(), *written(tmp_path / "runs/secrets")]
    leaks = [(name, shape) for name, content in found for key in KEYS for shape in shapes(key) if shape.encode() in content]
    assert leaks == []
    for name in CELLS:
        [told] = [content for path, content in found if path.endswith("agent.jsonl") and f"/{name}/" in path]
        assert told.count(SHOWN.encode()) > 10
        assert b'"TOKEN"' in told
