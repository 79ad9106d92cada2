"""The work of a sweep: agents by settings make cells, cells by seeds and repeats make scenarios to play."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from stamina.config.model import AgentConfig, Cell, Plan, Settings, Sweep, Work
from stamina.domain import Language, ScenarioOptions
from stamina.draw import Draw
from stamina.errors import InputError

AGENT_KEYS = ("version", "model")
"""Keys of an agent, not of :class:`Settings`, that may vary."""


def plan(sweep: Sweep) -> Plan:
    """All cells and, in the order in which it should start, all work.

    Each block of work is one scenario for every cell, in random order (the same order each time): an hour in which a provider is slow then slows all
    cells alike. Raises :class:`InputError` when two different cells would have the same name.
    """
    cells = tuple(_cells(sweep))
    _refuse_twins(cells)
    blocks = itertools.product(range(sweep.repeats), sweep.seeds)
    work = (Work(cell, seed, repeat) for repeat, seed in blocks for cell in Draw("plan").at(repeat, seed).shuffled(cells))
    return Plan(sweep, cells, tuple(work))


def label_of(agent: AgentConfig) -> str:
    """An agent's name in tables: the one given, or made of harness, version and model."""
    return agent.name or "-".join(part for part in (agent.harness, agent.version, agent.model) if part)


def combinations(sweep: Sweep) -> tuple[Mapping[str, Any], ...]:
    """What each cell of an agent changes: one mapping of key to value for each point of each grid; one empty one without ``[[vary]]``."""
    if not sweep.vary:
        return ({},)
    grids = (_points(grid) for grid in sweep.vary)
    return tuple(itertools.chain.from_iterable(grids))


def _points(grid: Mapping[str, Sequence[Any]]) -> Iterator[Mapping[str, Any]]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _cells(sweep: Sweep) -> Iterator[Cell]:
    """A cell that several grids share comes once."""
    seen: list[tuple[AgentConfig, Settings]] = []
    for agent, changes in itertools.product(sweep.agents, combinations(sweep)):
        varied = attrs.evolve(agent, **{name: value for name, value in changes.items() if name in AGENT_KEYS})
        settings = attrs.evolve(sweep.settings, **{name: value for name, value in changes.items() if name not in AGENT_KEYS})
        if (varied, settings) not in seen:
            seen.append((varied, settings))
            model = None if varied.model is None else sweep.models[varied.model]
            yield Cell(_slug(agent, varied, sweep.settings, settings), varied, model, settings)


def _slug(agent: AgentConfig, varied: AgentConfig, base: Settings, settings: Settings) -> str:
    """A name from the cell alone: agent, then every setting that differs from ``[sweep]``'s, so that it stays when other cells are added."""
    named = [getattr(varied, key) for key in AGENT_KEYS if agent.name and getattr(varied, key) != getattr(agent, key)]
    tags = [_tag(field.name, getattr(settings, field.name)) for field in attrs.fields(Settings) if getattr(settings, field.name) != getattr(base, field.name)]
    return _safe("-".join([label_of(varied), *named, *tags]))


_TAGS: Mapping[str, Callable[[Any], str]] = {
    "turns": "t{}".format,
    "retries": "r{}".format,
    "changes_per_turn": "k{}".format,
    "call_seconds": "call{:g}s".format,
    "call_model_idle_seconds": "modelidle{:g}s".format,
    "call_progress_idle_seconds": "progressidle{:g}s".format,
    "server_start_seconds": "start{}s".format,
    "answer_seconds": "answer{}s".format,
    "infra_retries": "infra{}".format,
    "seed_salt": lambda salt: f"salt-{_short(salt)}",  # the salt itself is a secret of whoever chose it
}


def _tag(name: str, value: Any) -> str:
    """A setting's part of a slug; words such as ``minimal`` and ``rust`` speak for themselves."""
    return _TAGS.get(name, str)(value)


def _safe(text: str) -> str:
    """A folder name on every file system: lower case, no separators, at most 80 characters, and no dot in front."""
    name = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-.") or "cell"
    return name if len(name) <= 80 else f"{name[:70].rstrip('-.')}-{_short(text)}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _refuse_twins(cells: Sequence[Cell]) -> None:
    seen: set[str] = set()
    for cell in cells:
        if cell.slug in seen:
            raise InputError(f'two cells would share the name "{cell.slug}"; give their agents a name = "…" each')
        seen.add(cell.slug)


def scenario_options(settings: Settings, seed: int) -> ScenarioOptions:
    """What a scenario of a cell is made from. Languages that are compiled get more time to start (contract L1)."""
    compiled = settings.language in (Language.RUST, Language.GO)
    return ScenarioOptions(
        seed=seed,
        seed_salt=settings.seed_salt,
        changes_per_turn=settings.changes_per_turn,
        sampler=settings.sampler,
        language=settings.language,
        start_seconds=settings.server_start_seconds or (180 if compiled else 60),
        answer_seconds=settings.answer_seconds,
    )
