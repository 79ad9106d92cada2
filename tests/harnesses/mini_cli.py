"""The smallest coding agents that there can be, one for each protocol: a conversation, and a shell that really runs. They double for CLIs in tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "description": {"type": "string"}}, "required": ["command"]}


@attrs.frozen
class Call:
    id: str
    name: str
    arguments: str


@attrs.frozen
class Heard:
    """An answer: its text, its calls, and the message or items that go back with the next request."""

    text: str
    calls: tuple[Call, ...]
    kept: tuple[Any, ...]


class Dialect:
    """How one protocol's client speaks."""

    shell = "bash"

    def body(self, history: list[Any], *, stream: bool, tools: bool = True) -> dict[str, Any]:
        raise NotImplementedError

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def heard(self, data: bytes, *, stream: bool) -> Heard:
        raise NotImplementedError

    def results(self, results: list[tuple[Call, str]]) -> list[Any]:
        raise NotImplementedError


def events(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON events of a stream."""
    for block in data.decode().split("\n\n"):
        payload = "".join(line.removeprefix("data: ") for line in block.split("\n") if line.startswith("data: "))
        if payload and payload != "[DONE]":
            yield json.loads(payload)


class Chat(Dialect):
    def body(self, history: list[Any], *, stream: bool, tools: bool = True) -> dict[str, Any]:
        functions = [{"type": "function", "function": {"name": self.shell, "description": "x", "parameters": SCHEMA}}]
        more: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        return {"model": "m", "messages": [{"role": "system", "content": "You are a coder."}, *history], **({"tools": functions} if tools else {}), **more}

    def heard(self, data: bytes, *, stream: bool) -> Heard:
        if not stream:
            message = json.loads(data)["choices"][0]["message"]
        else:
            text, call = "", None
            for event in events(data):
                for choice in event["choices"]:
                    text += choice["delta"].get("content") or ""
                    for part in choice["delta"].get("tool_calls", ()):
                        if call is None:
                            call = json.loads(json.dumps({key: value for key, value in part.items() if key != "index"}))
                        else:
                            call["function"]["arguments"] += part["function"]["arguments"]
            message = {"role": "assistant", "content": text or None} | ({"tool_calls": [call]} if call else {})
        calls = tuple(Call(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ()))
        return Heard(message["content"] or "", calls, (message,))

    def results(self, results: list[tuple[Call, str]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]


class Responses(Dialect):
    shell = "exec_command"

    def body(self, history: list[Any], *, stream: bool, tools: bool = True) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"cmd": {"type": "string"}, "yield_time_ms": {"type": "number"}}, "required": ["cmd"]}
        functions = [{"type": "function", "name": self.shell, "parameters": schema}, {"type": "web_search"}]
        return {"model": "m", "instructions": "You are a coder.", "input": history, "stream": stream, "store": False, **({"tools": functions} if tools else {})}

    def user(self, text: str) -> Any:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def heard(self, data: bytes, *, stream: bool) -> Heard:
        if stream:
            given = list(events(data))
            assert [event["sequence_number"] for event in given] == list(range(len(given)))
            items = [event["item"] for event in given if event["type"] == "response.output_item.done"]
            for item in items:
                deltas = [event["delta"] for event in given if event["type"].endswith("arguments.delta") and event["item_id"] == item["id"]]
                assert item["type"] != "function_call" or "".join(deltas) == item["arguments"]
            assert given[-1]["response"]["output"] == items
        else:
            items = json.loads(data)["output"]
        text = "".join(part["text"] for item in items if item["type"] == "message" for part in item["content"])
        calls = tuple(Call(item["call_id"], item["name"], item["arguments"]) for item in items if item["type"] == "function_call")
        return Heard(text, calls, tuple(items))

    def results(self, results: list[tuple[Call, str]]) -> list[Any]:
        return [
            {"type": "function_call_output", "call_id": call.id, "output": f"Chunk ID: x\nProcess exited with code 0\nOutput:\n{text}"}
            for call, text in results
        ]


class Messages(Dialect):
    shell = "Bash"

    def body(self, history: list[Any], *, stream: bool, tools: bool = True) -> dict[str, Any]:
        system = [{"type": "text", "text": "You are a coder.", "cache_control": {"type": "ephemeral"}}]
        functions = [{"name": "Read", "input_schema": {"type": "object", "properties": {}}}, {"name": self.shell, "input_schema": SCHEMA}]
        return {"model": "m", "max_tokens": 8000, "system": system, "messages": history, "stream": stream, **({"tools": functions} if tools else {})}

    def user(self, text: str) -> Any:
        return {"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nBe good.\n</system-reminder>"}, {"type": "text", "text": text}]}

    def heard(self, data: bytes, *, stream: bool) -> Heard:
        if not stream:
            content = json.loads(data)["content"]
        else:
            content, given = [], list(events(data))
            partial: dict[int, str] = {}
            for event in given:
                if event["type"] == "content_block_start":
                    content.append(event["content_block"])
                elif event["type"] == "content_block_delta" and event["delta"]["type"] == "text_delta":
                    content[event["index"]]["text"] += event["delta"]["text"]
                elif event["type"] == "content_block_delta":
                    partial[event["index"]] = partial.get(event["index"], "") + event["delta"]["partial_json"]
            assert given[-1]["type"] == "message_stop"
            for at, text in partial.items():
                try:
                    content[at]["input"] = json.loads(text)
                except ValueError:
                    content[at]["input"] = {}
        text = "".join(block["text"] for block in content if block["type"] == "text")
        calls = tuple(Call(block["id"], block["name"], json.dumps(block["input"])) for block in content if block["type"] == "tool_use")
        return Heard(text, calls, ({"role": "assistant", "content": content},))

    def results(self, results: list[tuple[Call, str]]) -> list[Any]:
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": text}]} for call, text in results]
        return [{"role": "user", "content": blocks}]


class Gemini(Dialect):
    shell = "run_shell_command"

    def body(self, history: list[Any], *, stream: bool, tools: bool = True) -> dict[str, Any]:
        declared = [{"name": self.shell, "parametersJsonSchema": SCHEMA}]
        system = {"parts": [{"text": "You are a coder."}]}
        return {"systemInstruction": system, "contents": history, **({"tools": [{"functionDeclarations": declared}]} if tools else {})}

    def user(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def heard(self, data: bytes, *, stream: bool) -> Heard:
        answers = list(events(data)) if stream else [json.loads(data)]
        parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
        assert answers[-1]["candidates"][0]["finishReason"] == "STOP"
        calls = tuple(Call("", part["functionCall"]["name"], json.dumps(part["functionCall"]["args"])) for part in parts if "functionCall" in part)
        return Heard("".join(part.get("text", "") for part in parts), calls, ({"role": "model", "parts": parts},))

    def results(self, results: list[tuple[Call, str]]) -> list[Any]:
        return [{"role": "user", "parts": [{"functionResponse": {"name": call.name, "response": {"output": text}}} for call, text in results]}]


DIALECTS: dict[str, Dialect] = {"chat": Chat(), "responses": Responses(), "messages": Messages(), "gemini": Gemini()}

Send = Callable[[dict[str, Any], bool], Awaitable[tuple[int, bytes]]]
"""Sends a body, for a stream or not; status and body of the answer."""


class Failed(Exception):
    """The model answered with an error, or with half a stream."""


def execute(command: str, workspace: Path) -> str:
    """Really run a command; its output as CLIs wrap it."""
    done = subprocess.run(["bash", "-c", command], cwd=workspace, capture_output=True, text=True, check=False, timeout=600)
    return f"<output>\n{done.stdout}{done.stderr}</output>\n<exit_code>{done.returncode}</exit_code>"


@attrs.define
class MiniCli:
    """A session. Failed requests are tried again, ``patience`` times in a row."""

    protocol: str
    send: Send
    workspace: Path
    stream: bool = False
    patience: int = 0
    history: list[Any] = attrs.field(factory=list)
    commands: list[str] = attrs.field(factory=list)
    execute: Callable[[str, Path], str] = execute

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.protocol]

    async def call(self, prompt: str, most: int = 60) -> str:
        """One agent call: until the model has no more commands; its last word."""
        self.history.append(self.dialect.user(prompt))
        for _ in range(most):
            heard = await self.ask()
            self.history.extend(heard.kept)
            if not heard.calls:
                return heard.text
            self.history.extend(self.dialect.results([(call, self.carry_out(call)) for call in heard.calls]))
        raise AssertionError("the model does not come to an end")

    async def ask(self, *, tools: bool = True, history: list[Any] | None = None) -> Heard:
        body = self.dialect.body(self.history if history is None else history, stream=self.stream, tools=tools)
        for attempt in range(self.patience + 1):
            try:
                status, data = await self.send(body, self.stream)
                if status != 200:
                    raise Failed(f"{status}: {data.decode()}")
                return self.dialect.heard(data, stream=self.stream)
            except (Failed, AssertionError, IndexError, KeyError):
                if attempt == self.patience:
                    raise
        raise AssertionError

    async def compact(self, wanted: str = "Please write a detailed summary of the conversation so far.") -> str:
        """Replace the conversation by the model's summary of it."""
        heard = await self.ask(tools=False, history=[*self.history, self.dialect.user(wanted)])
        self.history = [self.dialect.user(f"The conversation so far:\n\n{heard.text}\n\nGo on.")]
        return heard.text

    def carry_out(self, call: Call) -> str:
        if call.name != self.dialect.shell:
            return f"Error: there is no tool {call.name}"
        try:
            arguments = json.loads(call.arguments)
            command = arguments.get("command") or arguments["cmd"]
        except (ValueError, KeyError) as error:
            return f"Error: bad arguments: {error!r}"
        self.commands.append(command)
        return self.execute(command, self.workspace)
