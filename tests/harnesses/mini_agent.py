"""A small CLI as a program of its own: the session is kept in HOME, the prompt comes on stdin, the model is where the environment says.

``python mini_agent.py PROTOCOL stream|whole COMPACT_AT PATIENCE [SESSION]``
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trio

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.harnesses.mini_cli import Failed, MiniCli

SESSION = Path(".mini-agent", "session.json")
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages?beta=true"}


def path_of(protocol: str, model: str, *, stream: bool) -> str:
    """Where requests of a protocol go."""
    return PATHS.get(protocol) or f"/v1beta/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")


async def main() -> int:
    protocol, mode, compact_at, patience, *session = sys.argv[1:]
    url, token, model = urlsplit(os.environ["MODEL_URL"]), os.environ["MODEL_TOKEN"], os.environ["MODEL_NAME"]

    async def send(body: dict[str, Any], stream: bool) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(url.hostname or "", url.port or 80)
        sent = json.dumps(body if protocol == "gemini" else body | {"model": model})
        headers = {"x-api-key": token, "content-type": "application/json"}
        try:
            connection.request("POST", path_of(protocol, model, stream=stream), sent, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failed(repr(error)) from error
        finally:
            connection.close()
        if answer.status >= 500 or answer.status == 429:
            await trio.sleep(0.5)
        return answer.status, data

    cli = MiniCli(protocol, send, Path.cwd(), mode == "stream", int(patience))
    home = Path(os.environ["HOME"])
    if session and (home / SESSION).exists():
        cli.history = json.loads((home / SESSION).read_text())
    print(json.dumps({"type": "session", "session": session[0] if session else str(uuid.uuid4())}), flush=True)
    if len(json.dumps(cli.history)) > int(compact_at):
        await cli.compact()
    try:
        said = await cli.call(sys.stdin.read())
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        (home / SESSION).parent.mkdir(exist_ok=True)
        (home / SESSION).write_text(json.dumps(cli.history))
    print(json.dumps({"type": "done", "said": said}))
    return 0


if __name__ == "__main__":
    sys.exit(trio.run(main))
