"""The sweep file as it is written: one class a table, one attribute a key, with what it may hold, its default and its meaning.

The loader and the JSON Schema are both made from this page, so that they cannot disagree. :mod:`stamina.config.model` is what comes out.
"""

# ruff: noqa: RUF009 - key() makes an attrs field, which is what belongs there

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_type_hints

import attrs

from stamina.config.keys import key as key
from stamina.config.kinds import AnyTable, Choice, Flag, Memory, Number, OneOrMore, Seeds, Text, Whole
from stamina.config.model import AgentConfig, Budget, Egress, Engine, ModelConfig, OnExhausted, Price, Provider, SandboxConfig, Settings
from stamina.config.script import ScriptConfig
from stamina.domain import FeedbackLevel, Language, Sampler

MAX_TURNS: Final = 10_000
SAMPLER_ALIASES: Final = {"programmatic": Sampler.UNIFORM.value}
"""Other words that a sampler may be called by."""

_DEFAULTS = Settings()
_SANDBOX = SandboxConfig()

Name = Annotated[str, Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", "a name of at most 64 letters, digits, dots, dashes and underscores")]
Word = Annotated[str, Text(r"\S(?:.*\S)?", "text that is not empty")]
AnyText = Annotated[str, Text()]
EnvName = Annotated[str, Text(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable")]
Url = Annotated[str, Text(r"https?://\S+", "an address that begins with http:// or https://")]
Host = Annotated[str, Text(r"\.?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?", 'the name of a host, such as "registry.example" or ".example"')]
Mount = Annotated[str, Text(r"/[^:]*:/[^:]*(?::ro|:rw)?", 'a mount such as "/host/path:/inside:ro"')]
Dollars = Annotated[float, Number(above=0)]
PerMillion = Annotated[float, Number(low=0)]


@attrs.frozen
class SweepTable:
    """What is played, and by which rules."""

    name: Name = key("Names the run's folder.")
    seeds: Annotated[tuple[int, ...], Seeds()] = key('Which scenarios: text such as "0-19" or "0,3,7-9", a list, or one number.')
    repeats: Annotated[int, Whole(1, 1000)] = key("How often each cell plays each scenario.", 1)
    concurrency: Annotated[int, Whole(1, 10_000)] = key("How many scenarios are played at the same time.", 4)
    turns: Annotated[int, Whole(0, MAX_TURNS)] = key("N, the number of change requests: turns 0 to N are played.", _DEFAULTS.turns)
    retries: Annotated[int, Whole(0, 100)] = key("R, how many more attempts a failed turn gets, each with feedback.", _DEFAULTS.retries)
    feedback: Annotated[FeedbackLevel, Choice(FeedbackLevel)] = key("How much a retry is told about the failed tests.", _DEFAULTS.feedback)
    language: Annotated[Language, Choice(Language)] = key("The programming language that the agent is told to use.", _DEFAULTS.language)
    on_exhausted: Annotated[OnExhausted, Choice(OnExhausted)] = key("What follows a turn that failed after its last retry.", _DEFAULTS.on_exhausted)
    seed_salt: AnyText = key("Any text; makes scenarios that only those who know it can generate.", _DEFAULTS.seed_salt)
    call_seconds: Annotated[float, Number(above=0, high=604_800)] = key("Wall time of one agent call.", _DEFAULTS.call_seconds)
    call_model_idle_seconds: Annotated[float, Number(above=0, high=604_800)] = key(
        "Until a call is ended that asks its model nothing and uses no processor time.", _DEFAULTS.call_model_idle_seconds
    )
    call_progress_idle_seconds: Annotated[float, Number(above=0, high=604_800)] = key(
        "Until a call is ended that asks its model nothing, prints nothing and uses no processor time.", _DEFAULTS.call_progress_idle_seconds
    )
    server_start_seconds: Annotated[int, Whole(1, 3600)] | None = key("Until the agent's server must answer; 60 by default, 180 for Rust and Go.", None)
    answer_seconds: Annotated[int, Whole(1, 600)] = key("Limit for one answer of the agent's server.", _DEFAULTS.answer_seconds)
    infra_retries: Annotated[int, Whole(0, 100)] = key(
        "How often a call is repeated that failed for reasons that are not the agent's work.", _DEFAULTS.infra_retries
    )


@attrs.frozen
class ScenarioTable:
    """How scenarios are generated."""

    sampler: Annotated[Sampler, Choice(Sampler, tuple(SAMPLER_ALIASES.items()))] = key(
        'How changes are weighted; "programmatic" is the paper\'s word for "uniform".', _DEFAULTS.sampler
    )
    changes_per_turn: Annotated[int, Whole(1, 20)] = key("k, the number of changes in one request.", _DEFAULTS.changes_per_turn)


@attrs.frozen
class SandboxTable:
    """Where agents and their servers run."""

    engine: Annotated[Engine, Choice(Engine)] = key('What isolates them; "process" isolates nothing and is for trusted agents.', _SANDBOX.engine)
    allow_unsandboxed: Annotated[bool, Flag()] = key('Let harnesses that run a model use engine = "process" all the same.', _SANDBOX.allow_unsandboxed)
    image: Word | None = key("Container image instead of the harness's own.", None)
    cpus: Annotated[float, Number(above=0, high=1024)] = key("CPUs a container may use.", _SANDBOX.cpus)
    memory: Annotated[int, Memory()] = key('Memory a container may use, such as "4GiB".', _SANDBOX.memory, written="4GiB")
    pids: Annotated[int, Whole(16, 1_000_000)] = key("Processes and threads a container may have.", _SANDBOX.pids)
    disk: Annotated[int, Memory()] = key('Disk that workspace, home and temporary files may take, such as "20GiB".', _SANDBOX.disk, written="20GiB")
    egress: Annotated[Egress, Choice(Egress)] = key("What a container can reach beside the model.", _SANDBOX.egress)
    egress_allow: tuple[Host, ...] = key('Hosts for egress = "registries", beside STAMINA_EGRESS_ALLOW: "registry.example", ".example" for all below.', ())
    env: Mapping[EnvName, AnyText] = key("Environment variables for all agents.", attrs.Factory(dict))
    mounts: tuple[Mount, ...] = key('Folders of the host, such as "/host/path:/inside:ro".', ())
    docker_args: Annotated[dict[str, Any], AnyTable()] = key("Keys of the Engine API's HostConfig.", attrs.Factory(dict))
    user: Word | None = key('User in the container: "root", "UID" or "UID:GID"; by default the one who runs the sweep.', None)
    runtime: Word | None = key("OCI runtime, such as runsc.", None)
    read_only_root: Annotated[bool, Flag()] = key("Make everything but workspace, home and /tmp read-only.", _SANDBOX.read_only_root)


@attrs.frozen
class AgentTable:
    """One agent. Further keys belong to its harness."""

    harness: Word = key("Which adapter runs it.")
    version: Word | None = key("Version of its CLI.", None)
    model: Annotated[tuple[str, ...], OneOrMore()] = key("The [model.NAME] it uses, or a list of them: one cell each.", ())
    name: Name | None = key("Its name in tables and folders, instead of one made of harness, version and model.", None)
    args: tuple[AnyText, ...] = key("Further arguments for its CLI.", ())
    env: Mapping[EnvName, AnyText] = key("Environment variables for this agent.", attrs.Factory(dict))
    options: Mapping[str, Any] = attrs.field(factory=dict, metadata={"rest": True})

    @property
    def configs(self) -> tuple[AgentConfig, ...]:
        """One agent for each of its models."""
        single = len(self.model) < 2
        return tuple(
            AgentConfig(
                harness=self.harness,
                version=self.version,
                model=model,
                name=self.name if single or self.name is None else f"{self.name}-{model}",
                args=self.args,
                env=self.env,
                options=self.options,
            )
            for model in self.model or (None,)
        )


@attrs.frozen
class PriceTable:
    """What a model costs, in USD per million tokens."""

    input: PerMillion = key("Input tokens.")
    output: PerMillion = key("Output tokens.")
    cached_input: PerMillion | None = key("Input tokens read from the provider's cache; unknown when missing.", None)
    cache_write: PerMillion | None = key("Input tokens written to the provider's cache; unknown when missing.", None)


@attrs.frozen
class ModelTable:
    """One model, under the name that agents refer to."""

    provider: Annotated[Provider, Choice(Provider)] = key("Who serves it; openai means any compatible endpoint.")
    id: Word = key("The provider's name for it.")
    context_window: Annotated[int, Whole(1024, 100_000_000)] = key("Tokens that it can take in.")
    base_url: Url | None = key("Address of the endpoint, where it is not the provider's own.", None)
    api_key_env: EnvName | None = key("The environment variable that holds the key. The key itself is never written here.", None)
    params: Annotated[dict[str, Any], AnyTable()] = key("Parameters of requests, such as temperature.", attrs.Factory(dict))
    price: PriceTable | None = key(
        "USD per million tokens: `{ input = 0.60, output = 2.08, cached_input = 0.06, cache_write = 0.75 }`, the last two optional; unknown when missing.", None
    )
    max_in_flight: Annotated[int, Whole(1, 10_000)] = key("Agent calls, and requests to the model, at the same time.", 64)
    requests_per_minute: Annotated[int, Whole(1, 10_000_000)] | None = key("Requests to the model in any minute; no limit when missing.", None)
    tokens_per_minute: Annotated[int, Whole(1000, 10_000_000_000)] | None = key("Tokens, in and out, in any minute; no limit when missing.", None)
    model_idle_seconds: Annotated[float, Number(above=0, high=86_400)] = key("How long an answer may be silent before the provider is given up.", 300.0)
    script: ScriptConfig | None = key('How a model with provider = "scripted" behaves; the best of coders when missing.', None)


@attrs.frozen
class BudgetTable:
    """Limits of spending, in USD; none when missing."""

    scenario_usd: Dollars | None = key("One scenario.", None)
    sweep_usd: Dollars | None = key("The whole sweep.", None)
    turn_usd: Dollars | None = key("One turn of a scenario, all attempts together.", None)
    call_usd: Dollars | None = key("One agent call.", None)


SETTING_KEYS = tuple(field.name for field in attrs.fields(Settings))
AGENT_VARIABLE = ("version", "model")
"""Keys of ``[[agent]]`` that ``[[vary]]`` may give."""


def _variable() -> Mapping[str, Any]:
    """Every key that may vary, with the type of one value."""
    hints = get_type_hints(SweepTable, include_extras=True) | get_type_hints(ScenarioTable, include_extras=True)
    return {name: hints[name] for name in SETTING_KEYS} | dict.fromkeys(AGENT_VARIABLE, Word)


def _values_of(kind: Any) -> Any:
    several: Any = tuple.__class_getitem__((kind, ...)) | None
    return attrs.field(type=several, default=None, metadata={"doc": "Values to combine."})


VaryTable: Any = attrs.make_class(
    "VaryTable",
    {name: _values_of(kind) for name, kind in _variable().items()},
    frozen=True,
)
VaryTable.__doc__ = "A grid: every combination of its values becomes a cell. Several tables are several grids; a cell that they share is played once."


@attrs.frozen
class SweepFile:
    """The whole file."""

    sweep: SweepTable = key("What is played, and by which rules.")
    agent: tuple[AgentTable, ...] = key("The agents, at least one.")
    scenario: ScenarioTable = key("How scenarios are generated.", ScenarioTable())
    sandbox: SandboxTable = key("Where agents and their servers run.", SandboxTable())
    model: Mapping[Name, ModelTable] = key("Models, by the name that agents refer to.", attrs.Factory(dict))
    budget: BudgetTable = key("Limits of spending.", BudgetTable())
    vary: tuple[VaryTable, ...] = key("Grids of settings: every combination becomes a cell.", ())


def written_variables(grid: Any) -> dict[str, tuple[Any, ...]]:
    """The keys that a :data:`VaryTable` gives, with their values."""
    return {name: values for name in (*SETTING_KEYS, *AGENT_VARIABLE) if (values := getattr(grid, name)) is not None}


def sandbox_of(table: SandboxTable) -> SandboxConfig:
    """The same keys, as the model has them."""
    return SandboxConfig(**attrs.asdict(table, recurse=False))


def price_of(table: PriceTable | None) -> Price | None:
    """The same keys, as the model has them."""
    return None if table is None else Price(**attrs.asdict(table, recurse=False))


def model_of(name: str, table: ModelTable) -> ModelConfig:
    """The same keys, as the model has them."""
    return ModelConfig(name=name, **(attrs.asdict(table, recurse=False) | {"price": price_of(table.price), "script": table.script or ScriptConfig()}))


def budget_of(table: BudgetTable) -> Budget:
    """The same keys, as the model has them."""
    return Budget(**attrs.asdict(table, recurse=False))
