"""The published agent, one turn at a time: its prompts, its tool, its limits and its retries, over a conversation that outlives the process."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any, Final

import litellm
import openai
from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import FormatError, InterruptAgentFlow, LimitsExceeded, Submitted
from minisweagent.models.litellm_model import LitellmModel

from .compaction import HEAD, REQUEST, cut, due, joined
from .conversation import KIND, PROMPT, Conversation, Message, estimate
from .stream import Stream

NEW_TASK: Final = "The user added a new task: {}"
"""How ``mini`` itself puts a task that the user adds when the agent wants to finish."""

SUMMARY_TRIES: Final = 2


@dataclass
class Usage:
    """Tokens of this process's requests, as the model reported them."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def add(self, response: Any) -> int:
        """Count one response; returns all its tokens, 0 when it reports none."""
        usage = response.get("usage") if isinstance(response, dict) else None
        if not isinstance(usage, dict):
            return 0
        read = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        sent, received = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
        self.input, self.cached, self.output = self.input + sent, self.cached + read, self.output + received
        return int(sent + received)


@dataclass
class Outcome:
    """How a turn ended.

    Attributes:
        status: ``submitted``, ``format_error``, ``limits_exceeded``, ``context_overflow`` or ``model_error``.
        final: what the agent submitted.
        error: what went wrong.
        http_status: of a model error, None when there was no answer at all.
    """

    status: str
    final: str = ""
    error: str = ""
    http_status: int | None = None


@dataclass
class Turn:
    """What counts for this process only."""

    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    overflowed: bool = False
    summarised: bool = False


class ConversationAgent(DefaultAgent):  # type: ignore[misc]
    """See the module.

    Args:
        model, env, config: as for mini-swe-agent's own.
        conversation: what there is so far; saved after every message.
        compact_at: tokens from which the old part is summarised, 0 for never.
        stream: hears of all that happens.
    """

    def __init__(self, model: LitellmModel, env: Any, config: dict[str, Any], *, conversation: Conversation, compact_at: int, stream: Stream) -> None:
        super().__init__(model, env, **config)
        self._conversation = conversation
        self._compact_at = compact_at
        self._stream = stream
        self.messages = conversation.messages
        self.turn = Turn()

    def play(self, prompt: str) -> Outcome:
        """One turn, from its prompt to the agent's submission. A turn that was interrupted goes on where it was when it is asked for again."""
        self._open(prompt)
        while True:
            try:
                if due(self._conversation, self._compact_at):
                    self._compact()
                self.step()
                self.n_consecutive_format_errors = 0
            except Submitted as end:
                self._close()
                return Outcome("submitted", final=end.messages[0]["extra"]["submission"])
            except LimitsExceeded as end:
                return Outcome("limits_exceeded", error=end.messages[0]["content"])
            except FormatError as error:
                self._billed(error)
                self.add_messages(*error.messages)
                self.n_consecutive_format_errors += 1
                if 0 < self.config.max_consecutive_format_errors <= self.n_consecutive_format_errors:
                    return Outcome("format_error", error=f"{self.n_consecutive_format_errors} replies in a row without a valid tool call")
            except InterruptAgentFlow as interruption:
                self.add_messages(*interruption.messages)
            except litellm.exceptions.ContextWindowExceededError as error:
                if self.turn.overflowed or self._compact_at == 0 or not self._compact():
                    return Outcome("context_overflow", error=_short(error), http_status=400)
                self.turn.overflowed = True
            except openai.APIError as error:
                status = getattr(error, "status_code", None)
                return Outcome("model_error", error=_short(error), http_status=status if isinstance(status, int) else None)

    def query(self) -> Message:
        """See :class:`DefaultAgent`; counts tokens."""
        message: Message = super().query()
        self.turn.steps += 1
        self.turn.overflowed = False
        self._counted(message["extra"]["response"])
        return message

    def execute_actions(self, message: Message) -> list[Message]:
        """See :class:`DefaultAgent`. When the agent submits, its call gets a result all the same, as with ``mini``: there is a next turn."""
        outputs: list[dict[str, Any]] = []
        try:
            for action in message["extra"]["actions"]:
                outputs.append(self.env.execute(action))  # noqa: PERF401 - what was done before an exception counts
        finally:
            added = self.add_messages(*self.model.format_observation_messages(message, outputs, self.get_template_vars()))
        return added

    def add_messages(self, *messages: Message) -> list[Message]:
        """See :class:`DefaultAgent`; saves and tells them."""
        self.messages.extend(_kept(message) for message in messages)
        self._conversation.save()
        for message in messages:
            extra = message.get("extra", {})
            usage = Usage()
            usage.add(extra.get("response"))
            told = {key: value for key, value in message.items() if key in ("role", "content", "tool_calls", "tool_call_id")}
            more = {key: extra[key] for key in (KIND, "returncode") if key in extra} | ({"usage": usage.__dict__} if "response" in extra else {})
            self._stream.tell("message", message=told, time=time.time(), **more)
        return list(messages)

    def _open(self, prompt: str) -> None:
        conversation = self._conversation
        self.extra_template_vars = {"task": prompt}
        lost = conversation.unanswered()
        again = conversation.pending == prompt
        if conversation.pending is not None:
            self._stream.tell("resume", prompt="kept" if again else "new", interrupted=len(lost))
        conversation.pending = prompt
        added = list(lost)
        if len(self.messages) < HEAD:
            self.messages.clear()
            added += [
                self.model.format_message(role="system", content=self._render_template(self.config.system_template)),
                self.model.format_message(role="user", content=self._render_template(self.config.instance_template), extra={KIND: PROMPT}),
            ]
        elif not again:
            added.append(self.model.format_message(role="user", content=NEW_TASK.format(prompt), extra={KIND: PROMPT}))
        self.add_messages(*added)

    def _close(self) -> None:
        self._conversation.pending = None
        self._conversation.save()

    def _billed(self, error: FormatError) -> None:
        """A reply that was no valid call is paid for, and is not kept."""
        self.turn.steps += 1
        self._counted(error.messages[0].get("extra", {}).get("response"))

    def _counted(self, response: Any) -> None:
        reported = self.turn.usage.add(response)
        if self.turn.summarised and reported:
            self.turn.summarised = False
            self._conversation.floor = reported if reported >= self._compact_at else 0
        self._conversation.counted(reported)

    def _compact(self) -> bool:
        """Summarise the old part. Returns whether anything changed."""
        parts = cut(self.messages, self._compact_at, self._conversation.density())
        if parts is None:
            return False
        before = self._conversation.tokens()
        summary = self._summary([*self.messages[:HEAD], *parts.old])
        self.messages[:] = joined(self.messages, parts, summary, self._compact_at)
        self.turn.summarised = True
        self._conversation.reported, self._conversation.covered = 0, 0
        self._conversation.save()
        self._stream.tell("compaction", before=before, after=estimate(self.messages), messages=len(parts.old), summary=summary, time=time.time())
        return True

    def _summary(self, old: list[Message]) -> str | None:
        """The model's summary; None when it calls tools instead, says nothing, or the old part is too long for it."""
        request = [*copy.deepcopy(old), {"role": "user", "content": REQUEST}]
        for _ in range(SUMMARY_TRIES):
            try:
                response = self.model.query(request, tool_choice="none")["extra"]["response"]
            except FormatError as reply:  # a reply without a call is what we asked for
                response = reply.messages[0]["extra"]["response"]
            except litellm.exceptions.ContextWindowExceededError as error:
                self._stream.tell("error", error=f"no summary: {_short(error)}")
                return None
            self.turn.usage.add(response)
            text = _text(response)
            if text:
                return text
            self._stream.tell("error", error="no summary: the model answered with a tool call or with nothing")
        return None


def _kept(message: Message) -> Message:
    """A message as it is kept: without the raw response, which is as long again."""
    extra = {key: value for key, value in message.get("extra", {}).items() if key == KIND}
    return {**{key: value for key, value in message.items() if key != "extra"}, **({"extra": extra} if extra else {})}


def _text(response: Any) -> str:
    """The text of a response without tool calls, else nothing."""
    message = response["choices"][0]["message"] if isinstance(response, dict) else {}
    return "" if message.get("tool_calls") else (message.get("content") or "").strip()


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
