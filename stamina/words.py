"""Numbers and nouns in messages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 entity``, ``2 entities``, ``1,000 turns``; without a ``plural`` the noun takes an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
