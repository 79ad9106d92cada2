"""What the verbs that need no agent work on: a turn of a generated scenario, or a state from a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from stamina.config.file import MAX_TURNS, SAMPLER_ALIASES
from stamina.domain import Handler, Language, Sampler, ScenarioOptions
from stamina.draw import Draw
from stamina.errors import InputError, InvalidState
from stamina.rest.canonical import from_json
from stamina.rest.domain import RestDomain
from stamina.rest.schema import State
from stamina.rest.suite import build
from stamina.rest.truth import Truth
from stamina.rest.validate import check
from stamina.suite import Suite, Target

F = TypeVar("F", bound=Callable[..., Any])


@attrs.frozen
class Material:
    """A state, its suite, and a fresh ground-truth server of it."""

    state: State
    suite: Suite
    truth: Handler


def options_of_scenario(command: F) -> F:
    """The options that decide a scenario beside its seed, as in a sweep file; collected by :func:`scenario_options`."""
    defaults = ScenarioOptions(seed=0)
    samplers = [one.value for one in Sampler] + list(SAMPLER_ALIASES)
    for option in (
        click.option("--changes", type=click.IntRange(1, 20), default=defaults.changes_per_turn, show_default=True, help="Changes in one request."),
        click.option("--sampler", type=click.Choice(samplers), default=defaults.sampler.value, show_default=True),
        click.option("--salt", default="", help="The sweep's seed_salt."),
        click.option("--language", type=click.Choice([one.value for one in Language]), default=defaults.language.value, show_default=True),
    ):
        command = option(command)
    return command


def options_of_material(command: F) -> F:
    """``--seed S --turn T`` or ``--state FILE``."""
    for option in (
        click.option("--state", "state_file", type=click.Path(path_type=Path), help="A state in canonical JSON, such as `scenarios show --what state` prints."),
        click.option("--turn", type=click.IntRange(0, MAX_TURNS), default=0, show_default=True),
        click.option("--seed", type=click.IntRange(min=0)),
    ):
        command = option(command)
    return options_of_scenario(command)


def scenario_options(seed: int, given: dict[str, Any]) -> ScenarioOptions:
    """The options of a scenario, from the values of :func:`options_of_scenario`."""
    language = Language(given["language"])
    sampler = Sampler(SAMPLER_ALIASES.get(given["sampler"], given["sampler"]))
    return ScenarioOptions(seed=seed, seed_salt=given["salt"], changes_per_turn=given["changes"], sampler=sampler, language=language)


def material(seed: int | None, turn: int, state_file: Path | None, given: dict[str, Any]) -> Material:
    """What the options of :func:`options_of_material` mean. Raises :class:`InputError` or a usage error."""
    if (seed is None) == (state_file is None):
        raise click.UsageError("give either --seed (with --turn) or --state")
    if state_file is not None:
        state = read_state(state_file)
        return Material(state, build(state, _AllNew(), Draw("state")), Truth(state).handle)
    scenario = RestDomain().scenario(scenario_options(seed or 0, given))
    return Material(scenario.state(turn), scenario.suite(turn), scenario.truth(turn))


def read_state(path: Path) -> State:
    """A state written by hand or by ``scenarios show``. Raises :class:`InputError` that says what is wrong and where."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    try:
        state = from_json(data)
        check(state)
    except (InputError, InvalidState) as error:
        raise InputError(f"{path}: {error}") from error
    return state


class _AllNew:
    """The origins of a state without a history."""

    def since(self, target: Target) -> int:
        """Everything is of turn 0."""
        return 0
