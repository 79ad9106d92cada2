"""Takes secrets out of what is written, by their value: what a key is called, or how keys look, proves nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, quote_plus

SHORTEST: Final = 8
"""Shorter values are words, and would take innocent text with them."""

SHOWN: Final = "[secret]"


class Redactor:
    """Knows secrets, and replaces them wherever they stand: as they are, URL-encoded, in hex, and in base64 at any offset."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = dict.fromkeys(secret for secret in secrets if len(secret) >= SHORTEST)
        forms = sorted({form for secret in known for form in _forms(secret)}, key=lambda form: (-len(form), form))
        pattern = "|".join(map(re.escape, forms))
        self._text = re.compile(pattern) if forms else None
        self._bytes = re.compile(pattern.encode()) if forms else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return text if self._text is None else self._text.sub(SHOWN, text)

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        return data if self._bytes is None else self._bytes.sub(SHOWN.encode(), data)

    def value(self, value: Any) -> Any:
        """A value made of text, lists and tables without secrets; anything else is taken as it is."""
        match value:
            case str():
                return self.text(value)
            case bytes():
                return self.data(value)
            case dict():
                return {self.value(key): self.value(item) for key, item in value.items()}
            case list() | tuple():
                return type(value)(map(self.value, value)) if type(value) in (list, tuple) else value
            case _:
                return value

    def processor(self, logger: object, name: str, event: Any) -> Any:
        """For structlog's chain, before the renderer."""
        return {key: self.value(item) for key, item in event.items()}


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        plain = _base64_core(raw, offset)
        if len(plain) >= SHORTEST:
            yield plain
            yield plain.replace("+", "-").replace("/", "_")
            yield quote(plain, safe="")


def _base64_core(raw: bytes, offset: int) -> str:
    """The characters that are the same whatever stands around the secret, when ``offset`` bytes (mod 3) stand in front of it."""
    encoded = base64.b64encode(b"\0" * offset + raw).decode()
    start = (0, 2, 3)[offset]
    end = (offset + len(raw)) * 8 // 6
    return encoded[start:end]
