"""The protocols that agents speak to models in, and which of them each provider serves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from stamina.config.model import ModelConfig, Provider


class Protocol(StrEnum):
    """A protocol between an agent's CLI and a model."""

    CHAT = "chat"
    """OpenAI chat completions."""
    RESPONSES = "responses"
    """OpenAI responses."""
    MESSAGES = "messages"
    """Anthropic messages."""
    GEMINI = "gemini"
    """Gemini generateContent."""


SERVES: Final[Mapping[Provider, tuple[Protocol, ...]]] = {
    Provider.OPENAI: (Protocol.CHAT, Protocol.RESPONSES),
    Provider.ANTHROPIC: (Protocol.MESSAGES,),
    Provider.GEMINI: (Protocol.GEMINI,),
    Provider.BEDROCK: (Protocol.CHAT, Protocol.RESPONSES, Protocol.MESSAGES),
    Provider.SCRIPTED: tuple(Protocol),
}
"""What each provider speaks. Nothing is translated: a translation changes what is measured (tool calls, cache marks, reasoning), and its faults would be
graded as the agent's."""


def compatible(protocol: Protocol, model: ModelConfig) -> str | None:
    """Why an agent that speaks this protocol cannot use this model, as one clause; None when it can."""
    if protocol not in SERVES[model.provider]:
        served = " and ".join(SERVES[model.provider])
        return f'provider = "{model.provider.value}" speaks {served}, not {protocol.value}'
    if model.provider is Provider.BEDROCK and (protocol is Protocol.MESSAGES) != is_anthropic(model.id):
        speaks = "messages only" if is_anthropic(model.id) else "chat and responses, not messages"
        return f"on Bedrock {model.id} speaks {speaks}"
    return None


def is_anthropic(model_id: str) -> bool:
    """Whether a Bedrock model (``anthropic.…``, ``us.anthropic.…``, or the ARN of one) is one of Anthropic's, which Bedrock serves in their own protocol."""
    return "anthropic." in model_id
