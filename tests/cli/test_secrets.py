"""A planted key is nowhere but where it belongs: in the orchestrator, and in the header that the provider gets."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

from actors.gateway.redact import SHOWN
from scenario_store.recording import Recording
from scenario_store.run import Run
from scenario_store.wire import NAME
from tests.cli.model_lab import SWEEP, WORK, Asked, Reply, install, provider, says
from tests.cli.test_processes import ROOT, command
from tests.waiting import SECONDS

KEYS = {"LAB_KEY": "sk-lab/planted+key=0123456789", "AWS_SECRET_ACCESS_KEY": "aws/planted+secret==9876543210", "ANTHROPIC_API_KEY": "sk-ant-planted-5555555555"}
DUMP = f"{WORK}; cat /proc/self/environ > ~/environ"


def encodings(key: str) -> list[str]:
    """What a key looks like on its way."""
    hidden = [encode(before + key.encode() + b"!").decode() for before in (b"", b"u", b"u:") for encode in (base64.b64encode, base64.urlsafe_b64encode)]
    return [key, quote(key, safe=""), quote_plus(key), key.replace("/", "\\/"), key.encode().hex(), *hidden, *(quote(text) for text in hidden)]


def forms(key: str) -> list[str]:
    """What must not be found: of encodings that depend on what stands around a key, the part that does not."""
    return [text if text.startswith(("sk", "aws")) or len(text) == 2 * len(key) else text[4:-4] for text in encodings(key)]


def echoes() -> str:
    """What a careless provider says: every key, in every form."""
    return " ".join(form for key in KEYS.values() for form in encodings(key))


def careless(asked: Asked) -> Reply:
    """Repeats the keys: in an error, in a stream in two pieces, in a page of HTML, and in a good answer; works in between."""
    error = json.dumps({"error": {"message": echoes(), "type": "invalid_request_error"}}).encode()
    event = b"data: " + error + b"\n\n"
    page = f"<html>{echoes()}</html>".encode()
    replies = {
        0: Reply([error], 400, "application/json"),
        1: Reply([event[: len(event) // 2], event[len(event) // 2 :]]),
        2: Reply([page], 500, "text/html"),
        3: Reply([page], 200, "text/html"),
    }
    if asked.number in replies:
        return replies[asked.number]
    return says(DUMP) if asked.body["messages"][-1]["role"] == "user" else says(f"the key is {echoes()}", cut=0)


def written(run: Run) -> Iterator[tuple[str, bytes]]:
    """Everything in a run's folder, the working folders of the agents too, and what is compressed in it."""
    for path in run.path.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
    for folder in run.scenarios():
        recording = Recording.read(folder.path)
        for exchange in recording.exchanges:
            yield f"{NAME}, request {exchange.at}", repr((exchange, recording.body(exchange), recording.answer(exchange))).encode()


def test_planted_keys_are_nowhere(tmp_path: Path) -> None:
    """Not in the agent's environment, its files, logs, journals, recordings, results or output, though the provider repeats them in every way it can."""
    site = install(tmp_path)
    with provider(careless) as (port, asked):
        (tmp_path / "lab.toml").write_text(SWEEP.replace("PORT", str(port)))
        env = {**os.environ, **KEYS, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "NO_COLOR": "1"}
        flags = ["--set", "sweep.seeds=0", "--set", "sweep.turns=0"]
        done = subprocess.run(command("run", "lab.toml", *flags), cwd=tmp_path, env=env, capture_output=True, timeout=2 * SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {KEYS['LAB_KEY']}"}

    run = Run.open(tmp_path / "runs/lab")
    found = [("stdout", done.stdout), ("stderr", done.stderr), *written(run)]
    leaks = [(name, form) for name, content in found for key in KEYS.values() for form in forms(key) if form.encode() in content]
    assert leaks == []

    [folder] = run.scenarios()
    environ = next(run.path.glob("live/*/home/environ")).read_bytes()
    assert b"MODEL_TOKEN=" in environ
    assert SHOWN in folder.journal.read_text()
    assert SHOWN in "".join(repr(content) for name, content in found if name.startswith(NAME))
    assert any(SHOWN.encode() in path.read_bytes() for path in folder.path.rglob("agent.stderr"))
