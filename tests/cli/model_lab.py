"""A small agent that runs a model, as a third party's adapter, and a provider for it on a real socket: whole sweeps with model traffic, in seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from harnesses.registry import HARNESSES
from tests.local_server import QuietHandler, listening

AGENT = '''
"""Asks its model what to run, runs it, says what came of it, until the model has nothing more to run."""
import datetime, json, os, pathlib, subprocess, sys, urllib.error, urllib.request, uuid

past = pathlib.Path.home() / "history.json"
start = {"role": "system", "content": f"You work in {os.getcwd()}. It is {datetime.datetime.now()}. Session {uuid.uuid4()}."}
history = json.loads(past.read_text()) if past.exists() else [start]
prompt = sys.stdin.read()
history.append({"role": "user", "content": prompt})
while True:
    body = json.dumps({"model": os.environ["MODEL"], "messages": history, "stream": True}).encode()
    headers = {"authorization": "Bearer " + os.environ["MODEL_TOKEN"], "content-type": "application/json"}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(os.environ["MODEL_URL"] + "/v1/chat/completions", body, headers)).read().decode()
    except urllib.error.HTTPError as error:
        sys.exit(f"the model failed: {error.read().decode()}")
    events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    if any("error" in event for event in events):
        sys.exit(f"the model failed in the middle: {events}")
    said = "".join(choice["delta"].get("content", "") for event in events for choice in event["choices"])
    history.append({"role": "assistant", "content": said})
    if not said.startswith("run: "):
        break
    done = subprocess.run(["bash", "-c", said[5:]], input=prompt, text=True, capture_output=True)
    history.append({"role": "tool", "content": done.stdout + done.stderr})
past.write_text(json.dumps(history))
print("done")
'''

HARNESS = """
from pathlib import PurePosixPath

from harnesses.harness import CallReport, Command
from harnesses.reference import PROGRAM, program
from harnesses.registry import Registration
from stamina.config.model import HarnessInfo
from stamina.outcome import Cause

AGENT = PurePosixPath(".lab/agent.py")
TEXT = %r


class Lab:
    name, uses_model, program = "lab", True, None

    def command(self, context):
        access = context.model
        env = {"MODEL_URL": access.base_url, "MODEL_TOKEN": access.token, "MODEL": access.model}
        return Command(("python3", "-I", str(context.home / AGENT)), context.prompt.encode(), env, {AGENT: TEXT.encode(), PROGRAM: program()})

    def read(self, context, end):
        done = end.exit_code == 0 and end.stdout.read_text().endswith("done\\n")
        return CallReport(done, None if done else Cause.HARNESS, "" if done else end.stderr.read_text()[-500:], "s")


REGISTRATION = Registration(HarnessInfo("lab", uses_model=True, protocols=("chat",)), lambda agent: Lab())
"""

WORK = """\
run: cd; test -f session && set -- --session "$(cat session)"; cd - >/dev/null
python3 -I ~/.reference-agent/agent.pyz "$@" > ~/out; grep -o '"session": *"[^"]*"' ~/out | head -1 | cut -d '"' -f 4 > ~/session
date; echo "took $RANDOM ms, process $$, in $(mktemp)"; cat /proc/sys/kernel/random/uuid; env | sort | cut -c -200"""
"""What the model has its agent do: the work, by the reference agent, and noise that no two runs have in common."""

SWEEP = """\
[sweep]
name = "lab"
seeds = "0-1"
turns = 1
retries = 1
concurrency = 2

[sandbox]
engine = "process"
allow_unsandboxed = true

[[agent]]
harness = "lab"
model = "m"

[model.m]
provider = "openai"
id = "vendor/real"
context_window = 100000
base_url = "http://127.0.0.1:PORT/v1"
api_key_env = "LAB_KEY"
"""


def install(folder: Path) -> Path:
    """The adapter, as an installed package; a folder for the search path."""
    site = folder / "site"
    (site / "lab_adapter-1.dist-info").mkdir(parents=True)
    (site / "lab_adapter.py").write_text(HARNESS % AGENT)
    (site / "lab_adapter-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: lab-adapter\nVersion: 1\n")
    (site / "lab_adapter-1.dist-info/entry_points.txt").write_text("[stamina.harnesses]\nlab = lab_adapter:REGISTRATION\n")
    return site


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The adapter, known to this process for the length of the block."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(install(folder)))
        vars(HARNESSES).pop("_entries", None)
        yield
    vars(HARNESSES).pop("_entries", None)


@attrs.frozen
class Asked:
    """A request to the provider: how many there were before it, its path, headers and body."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@attrs.frozen
class Reply:
    """What the provider sends: a status, a type, and pieces one by one."""

    pieces: list[bytes]
    status: int = 200
    kind: str = "text/event-stream"


def says(text: str, cut: int = 10) -> Reply:
    """A streamed answer of a model, in two events."""
    usage = {"prompt_tokens": 100 + len(text), "completion_tokens": 10}
    events: list[dict[str, Any]] = [{"choices": [{"delta": {"content": part}}]} for part in (text[:cut], text[cut:])]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage})
    return Reply([*(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events), b"data: [DONE]\n\n"])


def works(asked: Asked) -> Reply:
    """The model: work, then an end."""
    return says(WORK if asked.body["messages"][-1]["role"] == "user" else "all done")


@contextmanager
def provider(answer: Callable[[Asked], Reply]) -> Iterator[tuple[int, list[Asked]]]:
    """The provider; its port, and what it was asked."""
    asked: list[Asked] = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = Asked(len(asked), self.path, dict(self.headers), body)
            asked.append(request)
            reply = answer(request)
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            self.end_headers()
            for piece in reply.pieces:
                self.wfile.write(piece)
                self.wfile.flush()

    with listening(Handler) as port:
        yield port, asked
