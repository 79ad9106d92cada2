"""A model behind chat completions that answers as a test says; for runners of ours that are tried by themselves, without a gateway."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from tests.local_server import QuietHandler, listening

Body = dict[str, Any]


@attrs.frozen
class Refusal:
    """An answer that is an error."""

    status: int
    message: str = "refused"
    code: str = "error"


Answer = Body | Refusal
"""A message of a model, or an error."""

Model = Callable[[Body], Answer]


def say(text: str) -> Body:
    return {"role": "assistant", "content": text}


_numbers = itertools.count()


def call(command: str, *, tool: str = "bash", arguments: str | None = None) -> Body:
    given = arguments if arguments is not None else json.dumps({"command": command})
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": f"call_{next(_numbers)}", "type": "function", "function": {"name": tool, "arguments": given}}],
    }


@attrs.define
class Stub:
    """Attributes: model answers each request; requests are the bodies that came; tokens is what it reports as the length of a request."""

    model: Model
    requests: list[Body] = attrs.field(factory=list)
    tokens: Callable[[Body], int] = lambda body: len(json.dumps(body["messages"])) // 4
    base_url: str = ""

    def answer(self, body: Body) -> tuple[int, Body]:
        self.requests.append(body)
        answer = self.model(body)
        if isinstance(answer, Refusal):
            return answer.status, {"error": {"message": answer.message, "type": "invalid_request_error", "code": answer.code}}
        sent = self.tokens(body)
        usage = {"prompt_tokens": sent, "completion_tokens": 10, "total_tokens": sent + 10}
        reason = "tool_calls" if answer.get("tool_calls") else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": answer}
        return 200, {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage}


@contextmanager
def serving(model: Model, listen: str, reach: str) -> Iterator[Stub]:
    """The stub on a port of this address of ours, for the length of the block; whoever asks it reaches that as ``reach``."""
    stub = Stub(model)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            status, answer = stub.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            sent = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    with listening(Handler, listen) as port:
        stub.base_url = f"http://{reach}:{port}/v1"
        yield stub
