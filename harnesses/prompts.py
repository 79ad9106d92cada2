"""Prompts that arrive as text, whatever they begin with."""

from __future__ import annotations

from typing import Final

LEAD_IN: Final = "Please do the following.\n\n"
_COMMANDS: Final = ("/", "-", "!", "@", "#", "?", "\\")


def plain(prompt: str) -> str:
    """The prompt, with a line before it when a CLI could take its beginning for a command or an option (``/compact``, ``--help``). Prompts of the benchmark
    never begin so; a domain of somebody else's may make such a one."""
    return f"{LEAD_IN}{prompt}" if prompt.lstrip().startswith(_COMMANDS) else prompt
