"""The framework of the paper's section 3.1 as protocols. It knows no REST: a domain is a thing that evolves by changes, is described in words, and is
tested over HTTP. The turn loop, the actors and the store see a domain only through this page; :mod:`stamina.rest.domain` is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias

import attrs

from stamina.exchange import Request, Response
from stamina.suite import Suite, Verdict


class Language(StrEnum):
    """The language that the agent is told to use."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    RUST = "rust"
    GO = "go"
    ANY = "any"


class FeedbackLevel(StrEnum):
    """How much of a verdict the agent is shown (contract F1)."""

    DETAILED = "detailed"
    MEDIUM = "medium"
    MINIMAL = "minimal"


class Sampler(StrEnum):
    """How changes are weighted (contract S6)."""

    UNIFORM = "uniform"
    DIFFICULTY = "difficulty"


@attrs.frozen
class ScenarioOptions:
    """All that decides a scenario's bytes, beside the benchmark's version (T7).

    Attributes:
        seed: of this scenario.
        seed_salt: makes private scenarios (L4); empty for the public ones.
        changes_per_turn: k.
        sampler: S6.
        language: appears in the instructions.
        start_seconds, answer_seconds: the limits that the text states (L1, H9).
    """

    seed: int
    seed_salt: str = ""
    changes_per_turn: int = 5
    sampler: Sampler = Sampler.UNIFORM
    language: Language = Language.PYTHON
    start_seconds: int = 60
    answer_seconds: int = 10


@attrs.frozen
class TurnPlan:
    """What one turn asks.

    Attributes:
        turn: 0..N.
        digest: sha256 (hex) of the state's canonical form.
        prompt: what the agent is told at attempt 0.
        changes: one line a change, empty at turn 0.
        short: fewer than k valid changes existed (S6).
    """

    turn: int
    digest: str
    prompt: str
    changes: tuple[str, ...]
    short: bool = False


Handler: TypeAlias = Callable[[Request], Response]
"""A ground-truth server as a function; it keeps its objects between calls."""


class Scenario(Protocol):
    """One reference trajectory, made turn by turn on demand; pure and deterministic. Methods may take tens of milliseconds: call them in a worker thread."""

    @property
    def options(self) -> ScenarioOptions:
        """What it was made from."""
        ...

    @property
    def files(self) -> Mapping[str, str]:
        """Files laid in the workspace before turn 0 and restored before each call (L3): instructions and specification."""
        ...

    def turn(self, number: int) -> TurnPlan:
        """What turn ``number`` asks."""
        ...

    def suite(self, number: int) -> Suite:
        """The tests of turn ``number``'s state."""
        ...

    def truth(self, number: int) -> Handler:
        """A fresh, empty ground-truth server of turn ``number``'s state."""
        ...

    def feedback(self, verdict: Verdict, level: FeedbackLevel) -> str:
        """What the agent is told about a failed attempt."""
        ...


class Domain(Protocol):
    """A family of scenarios."""

    @property
    def name(self) -> str:
        """Such as ``rest``."""
        ...

    @property
    def version(self) -> str:
        """The benchmark version: covers text, sampler and suite; scores of different versions are never pooled (T7)."""
        ...

    def scenario(self, options: ScenarioOptions) -> Scenario:
        """The scenario that these options make."""
        ...
