"""Takes secrets out of what is written, by their value: what a key is called, or how keys look, proves nothing."""

from __future__ import annotations

import base64
import json
import re
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, quote_plus

import attrs

SHORTEST: Final = 8
"""Shorter values are words, and would take innocent text with them."""

SHOWN: Final = "[secret]"

_SMALL: Final = 4096
"""Bytes up to which looking for a sign of a secret is cheaper than looking for each of them."""


class Redactor:
    """Knows secrets, and replaces them wherever they stand: as they are, URL-encoded, escaped for JSON, in hex, and in base64 at any offset.

    May be used by several threads at a time.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: dict[str, None] = {}
        self._learning = threading.Lock()
        self._forms = _Forms()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Know these as well: credentials that are fetched or refreshed while the sweep runs."""
        with self._learning:
            fresh = [secret for secret in secrets if len(secret) >= SHORTEST and secret not in self._known]
            if fresh:
                self._known |= dict.fromkeys(fresh)
                self._forms = _Forms.of(self._known)

    def text(self, text: str) -> str:
        """The text without secrets."""
        forms = self._forms
        return forms.in_text.sub(SHOWN, text) if any(form in text for form in forms.texts) else text

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        forms = self._forms
        if len(data) <= _SMALL and forms.surely_not_in(data):
            return data
        return forms.in_bytes.sub(SHOWN.encode(), data) if any(form in data for form in forms.encoded) else data

    def whole(self, data: bytes) -> int:
        """How many bytes from the front hold no beginning of a secret that may go on behind the end: what follows must be seen first."""
        forms = self._forms
        end = max(0, len(data) - max(0, forms.longest - 1))
        if any(form in data for form in forms.encoded):
            for match in forms.in_bytes.finditer(data):
                if match.start() < end < match.end():
                    return match.start()
        return end

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


@attrs.frozen
class _Forms:
    """What secrets may look like, the longest first, and patterns of all of them. A search for each in turn is much faster than one for the pattern."""

    texts: tuple[str, ...] = ()
    encoded: tuple[bytes, ...] = ()
    in_text: re.Pattern[str] = re.compile(r"(?!)")
    in_bytes: re.Pattern[bytes] = re.compile(rb"(?!)")
    words: frozenset[int] = frozenset()

    def surely_not_in(self, data: bytes) -> bool:
        """A quick look, whose cost does not grow with the number of secrets: wherever a form of at least seven bytes stands, it fills one of the words of four
        bytes that the data can be cut into. So when all of those are strangers, no form is there.
        """
        return self.words.isdisjoint(struct.unpack_from(f"={len(data) >> 2}I", data))

    @property
    def longest(self) -> int:
        """Bytes of the longest."""
        return max(map(len, self.encoded), default=0)

    @classmethod
    def of(cls, secrets: Iterable[str]) -> _Forms:
        """Of these secrets."""
        texts = sorted({form for secret in secrets for form in _forms(secret)}, key=lambda form: (-len(form), form))
        encoded = sorted({form.encode("utf-8", "surrogatepass") for form in texts}, key=lambda form: (-len(form), form))
        words = frozenset(int.from_bytes(form[at : at + 4], sys.byteorder) for form in encoded for at in range(len(form) - 3))
        return cls(tuple(texts), tuple(encoded), re.compile("|".join(map(re.escape, texts))), re.compile(b"|".join(map(re.escape, encoded))), words)


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
        yield json.dumps(escaped)[1:-1]  # providers put the answer of another one into their own as text
    yield quote(raw, safe="")
    yield quote(raw)
    yield quote_plus(raw)
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        plain = _base64_core(raw, offset)
        if len(plain) >= SHORTEST:
            yield plain
            yield plain.replace("+", "-").replace("/", "_")
            yield quote(plain, safe="")
            yield quote(plain)


def _base64_core(raw: bytes, offset: int) -> str:
    """The characters that are the same whatever stands around the secret, when ``offset`` bytes (mod 3) stand in front of it."""
    encoded = base64.b64encode(b"\0" * offset + raw).decode()
    start = (0, 2, 3)[offset]
    end = (offset + len(raw)) * 8 // 6
    return encoded[start:end]
