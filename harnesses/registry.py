"""Which harnesses there are: ours, and those that installed packages bring in through the entry point group ``stamina.harnesses``.

Each entry names a :class:`Registration`. Nothing is imported before it is asked for, so a third party's adapter that cannot be loaded harms only sweeps that
name it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import attrs

from harnesses.harness import Harness
from stamina.config.model import AgentConfig, HarnessInfo
from stamina.errors import InputError

GROUP: Final = "stamina.harnesses"

BUILT_IN: Final = tuple(
    EntryPoint(name, f"harnesses.{module}:REGISTRATION", GROUP)
    for name, module in (
        ("reference", "reference"),
        ("mock", "mock"),
        ("claude-code", "claude_code"),
        ("codex", "codex"),
        ("command", "command"),
        ("gemini-cli", "gemini_cli"),
        ("kimi", "kimi"),
        ("kimi-cli", "kimi_cli"),
        ("mini-swe-agent", "mini_swe_agent"),
        ("opencode", "opencode"),
        ("openhands", "openhands"),
        ("qwen-code", "qwen_code"),
        ("vibe", "vibe"),
    )
)
"""Our own, one module each; the module's ``REGISTRATION`` is the entry."""


@attrs.frozen
class Registration:
    """One harness.

    Attributes:
        info: what a sweep file may say about it.
        make: its adapter for one ``[[agent]]``.
    """

    info: HarnessInfo
    make: Callable[[AgentConfig], Harness]


class Registry(Mapping[str, HarnessInfo]):
    """What the loader needs to know of each harness, by name; ours win over a third party's of the same name.

    Args:
        entries: where to look, in order of rank; by default ours, then what is installed.
    """

    def __init__(self, entries: Callable[[], tuple[EntryPoint, ...]]) -> None:
        self._find = entries
        self._loaded: dict[str, Registration] = {}

    @cached_property
    def _entries(self) -> Mapping[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in self._find():
            found.setdefault(entry.name, entry)
        return dict(sorted(found.items()))

    def __getitem__(self, name: str) -> HarnessInfo:
        if name not in self._entries:
            raise KeyError(name)
        return self.registration(name).info

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def registration(self, name: str) -> Registration:
        """The harness of this name. Raises InputError when there is none, or when it cannot be loaded."""
        if name not in self._entries:
            raise InputError(f'there is no harness "{name}"; {self._nearest(name)}')
        if name not in self._loaded:
            self._loaded[name] = _load(self._entries[name])
        return self._loaded[name]

    def make(self, agent: AgentConfig) -> Harness:
        """The adapter for an agent. Raises InputError when there is none of this name."""
        return self.registration(agent.harness).make(agent)

    def _nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._entries, n=1)
        return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(self._entries)}"


def _load(entry: EntryPoint) -> Registration:
    try:
        loaded = entry.load()
    except Exception as error:
        raise InputError(f'harness "{entry.name}" cannot be loaded from {entry.value}: {error}') from error
    if not isinstance(loaded, Registration):
        raise InputError(f'harness "{entry.name}": {entry.value} is no harnesses.registry.Registration')
    return loaded


def _installed() -> tuple[EntryPoint, ...]:
    return (*BUILT_IN, *entry_points(group=GROUP))


HARNESSES: Final = Registry(_installed)
"""All harnesses of this installation."""


def make_harness(agent: AgentConfig) -> Harness:
    """The adapter for an agent, from :data:`HARNESSES`. Raises InputError when there is none of this name."""
    return HARNESSES.make(agent)
