"""A specification and helpers for the tests of the reference agent: its program as a process, its server in a thread."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import attrs

from harnesses.reference import program
from harnesses.reference_agent.orders import VARIABLE
from harnesses.reference_agent.session import Session
from harnesses.reference_agent.writer import api_data, server_source
from tests.waiting import SECONDS

OPENING = "Write the HTTP server that `initial_specification.md` describes, in the way that `README.md` lays down."
CLOSING = "\n\nAll else stays as it is. README.md still applies, and `bash run_server.sh PORT` must still start the server.\n"
NOTHING = "The API stays as it is this time. Check that the server still does all that has been asked for." + CLOSING
FEEDBACK = "The automatic tests found that the server does not yet do what was asked.\n\n3 of 24 tests failed.\n\nFailed tests:\n- one\n"

SPECIFICATION = """# Specification of the API

The API has 2 entities, 1 enum type, 3 relationships, 6 analytics endpoints and 2 actions.

README.md says how all of this behaves.

# Enum types

Values are case-sensitive.

- "DogPhase": "young", "grown", "old" (field "phase" of entity "Dog")

# Entities

Each entity has create, list, read, update and delete under its path.

## UserProfile

Path: /userprofile

- "id": string, required, non-nullable, unique, given by the client
- "email": string, required, non-nullable, minimum length 5, maximum length 9
- "balance": float, optional, nullable, maximum 1000.0

## Dog

Path: /dog

- "id": string, required, non-nullable, unique, given by the client
- "name": string, required, non-nullable
- "nickname": string, optional, nullable, maximum length 20, default "say \\"hi\\""
- "age": integer, required, nullable, minimum 0, maximum 30, default 3
- "legs": integer, optional, non-nullable
- "weight": float, required, non-nullable, minimum 0.5, maximum 90.0, default 10.0
- "good": boolean, optional, nullable, default true
- "born": datetime, optional, nullable, earliest "2000-01-01 00:00:00", latest "2026-12-31 23:59:59"
- "phase": enum "DogPhase" ("young", "grown", "old"), required, non-nullable, default "young"
- "owner": reference to "UserProfile", optional, nullable
- "parent": reference to "Dog", optional, nullable
- "friends": list of references to "Dog", optional, non-nullable, default []

# Analytics endpoints

Each answers 200 with a JSON object that has the key "result".

- GET /analytics/userprofile/balance/max: the largest "balance" over all "UserProfile" objects
- GET /analytics/dog/age/avg: the average of "age" over all "Dog" objects
- GET /analytics/dog/age/min: the smallest "age" over all "Dog" objects
- GET /analytics/dog/age/max: the largest "age" over all "Dog" objects
- GET /analytics/dog/weight/sum: the sum of "weight" over all "Dog" objects
- GET /analytics/dog/count: the number of "Dog" objects

# Actions

An action is called by POST without a body on an object.

## Dog.grow_up

Path: POST /dog/{id}/grow_up

- Transition: "phase" from "young", "grown" to "old"
- Conditions:
  1. `this.age >= 2`
  2. `this.nickname != "a `b` \\"c\\""`
- Effects:
  1. `increment this.age by 1`
  2. `increment this.owner.balance by -2.5`

## Dog.rest

Path: POST /dog/{id}/rest

- Transition: "phase" from "old" to "grown"
- Conditions: none
- Effects: none
"""


def request(*changes: str) -> str:
    """A change request; each change's lines below the first are given without indentation."""
    items = []
    for number, change in enumerate(changes, 1):
        start = f"{number}. "
        items.append(start + change.replace("\n", "\n" + " " * len(start)))
    plural = "" if len(changes) == 1 else "s"
    return f"The API changes. Please make {len(changes)} change{plural}, in this order:\n\n" + "\n".join(items) + CLOSING


def dog_action(conditions: list[str], effects: list[str], name: str = "act") -> str:
    """The change that adds an action to Dog, from young to old."""
    lines = [f'Add action "{name}" of entity "Dog" (POST /dog/{{id}}/{name}):', '- Transition: "phase" from "young" to "old"']
    for title, rules in (("Conditions", conditions), ("Effects", effects)):
        lines.append(f"- {title}:" if rules else f"- {title}: none")
        lines += [f"  {number}. `{rule}`" for number, rule in enumerate(rules, 1)]
    return "\n".join(lines)


def session_after(*requests: str) -> Session:
    """A session that has been given the specification and these requests."""
    session = Session.begun(SPECIFICATION)
    session.requests.extend(requests)
    return session


@attrs.frozen
class Client:
    """Calls a server on a new connection each time."""

    port: int

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON value; a body that is bytes is sent as it is."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)) as connection:
            connection.request(method, path, content, {"Content-Type": "application/json"} if content else {"Content-Length": "0"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None

    def make(self, path: str, key: str, **fields: Any) -> dict[str, Any]:
        """A new object, which must be accepted."""
        status, value = self("POST", path, {"id": key, **fields})
        assert status == 201, value
        return dict(value)

    def dog(self, key: str = "d1", **fields: Any) -> dict[str, Any]:
        """A new dog."""
        return self.make("/dog", key, **({"name": "Rex", "legs": 4} | fields))

    def get(self, path: str) -> Any:
        """The value of what must be there."""
        status, value = self("GET", path)
        assert status == 200, value
        return value


@cache
def _compiled(source: str) -> CodeType:
    return compile(source, "server.py", "exec")


@contextmanager
def serving_files(files: Mapping[str, str]) -> Iterator[Client]:
    """The server that these files make, in a thread."""
    module = ModuleType("server_under_test")
    exec(_compiled(files["server.py"]), module.__dict__)
    server = module.Server(0, module.Api(json.loads(files["api.json"])))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Client(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving(*requests: str) -> Iterator[Client]:
    """The agent's server after these requests."""
    data = api_data(session_after(*requests).api())
    with serving_files({"server.py": server_source(), "api.json": json.dumps(data)}) as client:
        yield client


@attrs.frozen
class Agent:
    """The agent's program with a workspace and a home."""

    root: Path

    @classmethod
    def at(cls, root: Path) -> Agent:
        """A fresh one."""
        agent = cls(root)
        agent.workspace.mkdir()
        agent.home.mkdir()
        (agent.workspace / "initial_specification.md").write_text(SPECIFICATION)
        (agent.home / "agent.pyz").write_bytes(program())
        return agent

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def call(self, prompt: str, *arguments: str, **orders: Any) -> subprocess.CompletedProcess[str]:
        """One call, with the mock agent's orders if there are any."""
        return subprocess.run(
            [sys.executable, "-I", str(self.home / "agent.pyz"), *arguments],
            input=prompt,
            cwd=self.workspace,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **({VARIABLE: json.dumps([orders])} if orders else {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def files(self) -> dict[str, str]:
        """The server's files."""
        return {name: (self.workspace / name).read_text() for name in ("server.py", "api.json", "run_server.sh")}
