"""A sweep file as frozen values. :mod:`stamina.config.load` reads TOML into these, :mod:`stamina.config.plan` makes the work out of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import attrs

from stamina.config.script import ScriptConfig
from stamina.domain import FeedbackLevel, Language, Sampler


class OnExhausted(StrEnum):
    """What follows a turn that failed after its last retry (contract T3)."""

    STOP = "stop"
    CONTINUE = "continue"


class Engine(StrEnum):
    """Where agents run."""

    DOCKER = "docker"
    PODMAN = "podman"
    PROCESS = "process"
    """Plain processes of this host: trusted agents only."""


class Egress(StrEnum):
    """What a container can reach beside the model gateway."""

    NONE = "none"
    REGISTRIES = "registries"
    OPEN = "open"


class Provider(StrEnum):
    """Who serves a model."""

    BEDROCK = "bedrock"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"
    SCRIPTED = "scripted"


@attrs.frozen
class Settings:
    """The settings of a cell that ``[sweep]`` gives and ``[[vary]]`` may vary.

    Attributes:
        turns: N; N + 1 turns are played.
        retries: R.
        call_seconds: wall time of one agent call.
        call_model_idle_seconds: until a call is ended that asks its model nothing and does nothing else.
        call_progress_idle_seconds: until a call is ended that shows no sign of progress at all.
        server_start_seconds: until the agent's server answers; None takes the language's default (60; 180 for Rust and Go).
        answer_seconds: limit of one HTTP answer.
        infra_retries: T4's 10.
    """

    turns: int = 100
    retries: int = 2
    feedback: FeedbackLevel = FeedbackLevel.DETAILED
    language: Language = Language.PYTHON
    on_exhausted: OnExhausted = OnExhausted.STOP
    changes_per_turn: int = 5
    sampler: Sampler = Sampler.UNIFORM
    seed_salt: str = ""
    call_seconds: float = 3600.0
    call_model_idle_seconds: float = 1200.0
    call_progress_idle_seconds: float = 1800.0
    server_start_seconds: int | None = None
    answer_seconds: int = 10
    infra_retries: int = 10


@attrs.frozen
class SandboxConfig:
    """``[sandbox]``. ``memory`` and ``disk`` are in bytes here; ``docker_args`` are keys of the Engine API's HostConfig."""

    engine: Engine = Engine.DOCKER
    allow_unsandboxed: bool = False
    image: str | None = None
    cpus: float = 2.0
    memory: int = 4 * 1024**3
    pids: int = 1024
    disk: int = 20 * 1024**3
    egress: Egress = Egress.NONE
    egress_allow: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict)
    mounts: tuple[str, ...] = ()
    docker_args: Mapping[str, Any] = attrs.field(factory=dict)
    user: str | None = None
    runtime: str | None = None
    read_only_root: bool = False


@attrs.frozen
class Price:
    """USD per million tokens; a missing one is unknown, never 0. ``cache_write`` is for input tokens that are written to the provider's cache."""

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


@attrs.frozen
class ModelConfig:
    """``[model.NAME]``. The key itself is never here: ``api_key_env`` names the variable that holds it.

    ``model_idle_seconds`` is how long an answer may be silent before the provider is given up. ``script`` is for scripted models alone.
    """

    name: str
    provider: Provider
    id: str
    context_window: int
    base_url: str | None = None
    api_key_env: str | None = None
    params: Mapping[str, Any] = attrs.field(factory=dict)
    price: Price | None = None
    max_in_flight: int = 64
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    model_idle_seconds: float = 300.0
    script: ScriptConfig = attrs.field(factory=ScriptConfig)


@attrs.frozen
class AgentConfig:
    """``[[agent]]``. ``options`` holds the keys that belong to this harness alone, such as the mock agent's weaknesses."""

    harness: str
    version: str | None = None
    model: str | None = None
    name: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict)
    options: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Budget:
    """``[budget]``, in USD; None is no limit. ``turn_usd`` and ``call_usd`` bound one turn and one agent call of a scenario."""

    scenario_usd: float | None = None
    sweep_usd: float | None = None
    turn_usd: float | None = None
    call_usd: float | None = None

    @property
    def binds(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in attrs.astuple(self))


@attrs.frozen
class Sweep:
    """A whole sweep file. ``vary`` is every combination's overrides of :class:`Settings` and of agent keys, in the order of the file."""

    name: str
    seeds: tuple[int, ...]
    agents: tuple[AgentConfig, ...]
    repeats: int = 1
    concurrency: int = 4
    settings: Settings = Settings()
    sandbox: SandboxConfig = SandboxConfig()
    models: Mapping[str, ModelConfig] = attrs.field(factory=dict)
    budget: Budget = Budget()
    vary: tuple[Mapping[str, tuple[Any, ...]], ...] = ()


@attrs.frozen
class Cell:
    """One column of the result: an agent, its model and every setting. ``slug`` is its folder and its name in tables."""

    slug: str
    agent: AgentConfig
    model: ModelConfig | None
    settings: Settings


@attrs.frozen
class Work:
    """One scenario to play."""

    cell: Cell
    seed: int
    repeat: int


@attrs.frozen
class Plan:
    """All work of a sweep, cells interleaved over time."""

    sweep: Sweep
    cells: tuple[Cell, ...]
    work: tuple[Work, ...]


@attrs.frozen
class HarnessInfo:
    """What the loader must know of a harness; the registry above it makes these.

    Attributes:
        uses_model: it runs a model, so it needs one and must be sandboxed.
        options: the attrs class of its own ``[[agent]]`` keys, with plain or ``Annotated`` types; None when it has none.
        protocols: what it can speak to a model (:class:`stamina.protocols.Protocol`), the one it likes best first; empty when it speaks all.
    """

    name: str
    uses_model: bool
    options: type[Any] | None = None
    protocols: tuple[str, ...] = ()
