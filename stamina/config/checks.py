"""What no key shows by itself: names that refer to each other, and combinations that cannot be."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stamina.config.file import AgentTable, SweepFile, budget_of, model_of, written_variables
from stamina.config.kinds import suggestion
from stamina.config.model import Engine, HarnessInfo, Provider
from stamina.config.plan import label_of
from stamina.config.structure import Problem, structured, written_keys
from stamina.errors import InputError
from stamina.pricing import price_of
from stamina.protocols import Protocol, compatible


def cross_problems(file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    """Everything wrong between the keys of a file whose keys are right one by one."""
    if not file.agent:
        yield Problem(("agent",), "at least one [[agent]] is needed")
    for index, agent in enumerate(file.agent):
        yield from _agent_problems(index, agent, file, harnesses)
    yield from _vary_problems(file, harnesses)
    yield from _name_problems(file.agent)
    yield from _sandbox_problems(file, harnesses)
    yield from _protocol_problems(file, harnesses)
    yield from _price_problems(file)
    yield from _script_problems(file)


def _agent_problems(index: int, agent: AgentTable, file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    harness = harnesses.get(agent.harness)
    if harness is None:
        yield Problem(("agent", index, "harness"), f'there is no harness "{agent.harness}"; {suggestion(agent.harness, sorted(harnesses), "harnesses")}')
    else:
        yield from _option_problems(index, agent, harnesses)
        yield from _model_problems(index, agent, file, harness)
    for model in agent.model:
        if model not in file.model:
            yield _undefined(("agent", index, "model"), model, file)


def _option_problems(index: int, agent: AgentTable, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    """Keys that only this harness knows."""
    harness = harnesses[agent.harness]
    known = written_keys(AgentTable) + _option_keys(harness)
    for name in agent.options:
        if name not in known:
            owner = _owner(name, harnesses)
            hint = suggestion(name, known, "keys here") if owner is None else f"it is a key of harness {owner}"
            yield Problem(("agent", index, name), f"unknown key for harness {harness.name}; {hint}")
    if harness.options is not None:
        own = {name: value for name, value in agent.options.items() if name in known}
        for problem in structured(own, harness.options)[1]:
            yield Problem(("agent", index, *problem.path), problem.text)


def _owner(key: str, harnesses: Mapping[str, HarnessInfo]) -> str | None:
    """The harness that has this key; one that cannot be loaded has none."""
    for name in harnesses:
        with contextlib.suppress(InputError):
            if key in _option_keys(harnesses[name]):
                return name
    return None


def _option_keys(harness: HarnessInfo) -> list[str]:
    return [] if harness.options is None else written_keys(harness.options)


def _model_problems(index: int, agent: AgentTable, file: SweepFile, harness: HarnessInfo) -> Iterator[Problem]:
    varied = bool(file.vary) and all(grid.model for grid in file.vary)
    if harness.uses_model and not agent.model and not varied:
        yield Problem(("agent", index), f"harness {harness.name} runs a model: add model = the name of a [model.NAME]")
    if not harness.uses_model and agent.model:
        yield Problem(("agent", index, "model"), f"harness {harness.name} runs no model; leave the key out")


def _protocol_problems(file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    """A harness and a model that have no protocol in common."""
    for index, agent in enumerate(file.agent):
        spoken = harnesses[agent.harness].protocols if agent.harness in harnesses else ()
        wanted = agent.options.get("protocol")
        if spoken and isinstance(wanted, str):
            if wanted not in spoken:
                yield Problem(("agent", index, "protocol"), f"harness {agent.harness} speaks {' and '.join(spoken)}, not {wanted}")
                continue
            spoken = (wanted,)
        varied = {name for grid in file.vary for name in grid.model or ()}
        for name in (*agent.model, *sorted(varied - set(agent.model))):
            if name not in file.model or not spoken:
                continue
            reasons = [compatible(Protocol(protocol), model_of(name, file.model[name])) for protocol in spoken]
            if all(reason is not None for reason in reasons):
                yield Problem(("agent", index, "model"), f"harness {agent.harness} cannot use model {name}: {reasons[0]}")


def _price_problems(file: SweepFile) -> Iterator[Problem]:
    """A limit on spending binds only where prices are known."""
    if not budget_of(file.budget).binds:
        return
    used = {name for agent in file.agent for name in agent.model} | {name for grid in file.vary for name in grid.model or ()}
    for name, table in file.model.items():
        if name in used and price_of(model_of(name, table)) is None:
            yield Problem(
                ("model", name), "there is a [budget], but no price is known for this model: add price = { input = …, output = … }, USD per million tokens"
            )


def _script_problems(file: SweepFile) -> Iterator[Problem]:
    for name, table in file.model.items():
        if table.script is not None and table.provider is not Provider.SCRIPTED:
            yield Problem(("model", name, "script"), f'is for provider = "scripted" alone, and this model\'s is "{table.provider.value}"')


def _undefined(path: tuple[str | int, ...], model: str, file: SweepFile) -> Problem:
    return Problem(path, f"there is no [model.{model}] in this file; {suggestion(model, list(file.model), 'models')}")


def _vary_problems(file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    for index, grid in enumerate(file.vary):
        written = written_variables(grid)
        if not written:
            yield Problem(("vary", index), "gives no values to combine")
        for name, values in written.items():
            yield from _values_problems(("vary", index, name), values)
        for at, model in enumerate(written.get("model", ())):
            if model not in file.model:
                yield _undefined(("vary", index, "model", at), model, file)
        if "model" in written:
            yield from _modelless_problems(index, file, harnesses)


def _values_problems(path: tuple[str | int, ...], values: Sequence[Any]) -> Iterator[Problem]:
    if not values:
        yield Problem(path, "expected at least one value, got an empty list")
    for value, count in Counter(values).items():
        if count > 1:
            yield Problem(path, f"has {value} twice; repetitions are [sweep] repeats")


def _modelless_problems(index: int, file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    for agent in file.agent:
        if agent.harness in harnesses and not harnesses[agent.harness].uses_model:
            yield Problem(("vary", index, "model"), f"harness {agent.harness} runs no model, so its model cannot vary")


def _name_problems(agents: Sequence[AgentTable]) -> Iterator[Problem]:
    """Two agents of one name would share a folder; the name shows in tables, so the author chooses it."""
    seen: dict[str, int] = {}
    for index, agent in enumerate(agents):
        for label in map(label_of, agent.configs):
            first = seen.setdefault(label.lower(), index)
            if first != index:
                yield Problem(
                    ("agent", index), f'has the same name "{label}" as agent {first + 1}; give each a name = "…" of its own (for repetitions: [sweep] repeats)'
                )


def _sandbox_problems(file: SweepFile, harnesses: Mapping[str, HarnessInfo]) -> Iterator[Problem]:
    if file.sandbox.engine is not Engine.PROCESS or file.sandbox.allow_unsandboxed:
        return
    risky = [agent.harness for agent in file.agent if agent.harness in harnesses and harnesses[agent.harness].uses_model]
    if risky:
        yield Problem(
            ("sandbox", "engine"),
            f'harness {risky[0]} runs a model, whose commands engine = "process" does not isolate from this machine; '
            "use docker or podman, or accept the risk with allow_unsandboxed = true",
        )
