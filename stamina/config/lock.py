"""What a run is made of, and whether another plan is the same run, a longer one, or a different one that must not be mixed with it.

More seeds, repeats or cells and larger ``turns`` or ``retries`` extend a run. Everything else that bears on a score is refused when it differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import cattrs

from stamina.config.model import AgentConfig, Cell, ModelConfig, Plan, SandboxConfig, Settings
from stamina.errors import InputError


@attrs.frozen
class CellLock:
    """One cell. Values of ``agent.env`` are digests, because they may be secrets."""

    slug: str
    agent: AgentConfig
    model: ModelConfig | None
    settings: Settings


@attrs.frozen
class Lock:
    """Every ingredient of a run's identity, and how much of it there is.

    Attributes:
        benchmark: version of text, sampler and suite (contract T7).
        package: version of stamina.
        prompts: digest of the prompts' fixed text.
        sandbox: with digests for the values of ``env``.
        seeds, repeats, cells: the extent, which may grow.
        images: of each harness, the id of the image that it runs in; empty without containers.
        replay: the folder of the run that this one plays again, as seen from this one's; None when models were asked.
    """

    benchmark: str
    package: str
    prompts: str
    sandbox: SandboxConfig
    seeds: tuple[int, ...]
    repeats: int
    cells: tuple[CellLock, ...]
    replay: str | None = None
    images: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Difference:
    """What separates a new plan from a run; each entry is one line for a person.

    Attributes:
        refusals: differences that would mix two experiments.
        extensions: what the new plan adds.
        kept: what the run has and the new plan does not mention; it stays as it is.
    """

    refusals: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def check(self, run: str) -> None:
        """Raises :class:`InputError` that lists the refusals, when there are any."""
        if self.refusals:
            lines = "".join(f"\n  {line}" for line in self.refusals)
            raise InputError(
                f"{run} was played with other settings, and results must not be mixed:{lines}\nUndo the change, or give a new run folder with --out."
            )


def identity(plan: Plan, *, benchmark: str, package: str, prompts: str) -> Lock:
    """The lock of a plan."""
    sandbox = attrs.evolve(plan.sweep.sandbox, env=_digests(plan.sweep.sandbox.env))
    return Lock(benchmark, package, prompts, sandbox, plan.sweep.seeds, plan.sweep.repeats, tuple(map(_cell, plan.cells)))


def difference(old: Lock, new: Lock, *, other_images: bool = False) -> Difference:
    """How ``new`` relates to the run that was begun with ``old``. ``other_images``: somebody says that it may go on in other images."""
    before, after = _by_slug(old), _by_slug(new)
    common = [slug for slug in after if slug in before]
    refusals = [*_changes("", _fixed(old), _fixed(new)), *_changes("", _replay(old), _replay(new))]
    extensions = [f"cell {slug} is new" for slug in after if slug not in before]
    for slug in common:
        refusals += _changes(f"cell {slug}: ", _facts(before[slug]), _facts(after[slug]))
        for line, grows in _growth(slug, before[slug].settings, after[slug].settings):
            (extensions if grows else refusals).append(line)
    (extensions if other_images else refusals).extend(_other_images(old, new))
    return Difference(tuple(refusals), (*extensions, *_more(old, new)), tuple(_kept(old, new)))


def unrecorded(recorded: Lock, new: Lock) -> tuple[str, ...]:
    """Why a plan cannot be played from the recording of a run, one line each: what was played is not what is asked. Fewer seeds, turns or cells are fine, and
    so are another stamina and other limits of the sandbox: what they change is missed when it is asked.
    """
    before = _by_slug(recorded)
    lines = [*_changes("", _asked(recorded), _asked(new))]
    for cell in new.cells:
        if cell.slug not in before:
            lines.append(f"cell {cell.slug} was not played; played were {', '.join(before)}")
            continue
        was = before[cell.slug]
        lines += _changes(f"cell {cell.slug}: ", _facts(was), _facts(cell))
        lines += [line for line, more in _growth(cell.slug, was.settings, cell.settings) if more]
    return (*lines, *_more(recorded, new))


def _asked(lock: Lock) -> Mapping[str, Any]:
    return {"benchmark version": lock.benchmark, "text of the prompts": lock.prompts, "sandbox.engine": lock.sandbox.engine}


def _replay(lock: Lock) -> Mapping[str, Any]:
    """Where the recorded run lies may change, which one it is may not."""
    return {"replay of": None if lock.replay is None else lock.replay.rstrip("/").rpartition("/")[2]}


def merged(old: Lock, new: Lock) -> Lock:
    """The lock of the run once ``new`` has extended it. Call only when :func:`difference` refuses nothing."""
    cells = {**_by_slug(old), **_by_slug(new)}
    seeds = dict.fromkeys((*old.seeds, *new.seeds))
    images = {**old.images, **new.images}
    return attrs.evolve(new, seeds=tuple(seeds), repeats=max(old.repeats, new.repeats), cells=tuple(cells.values()), images=images)


def _cell(cell: Cell) -> CellLock:
    """Without what says nothing about a score: where the key is, and how many requests go out at once or in a minute."""
    model = None if cell.model is None else attrs.evolve(cell.model, api_key_env=None, max_in_flight=1, requests_per_minute=None, tokens_per_minute=None)
    return CellLock(cell.slug, attrs.evolve(cell.agent, env=_digests(cell.agent.env)), model, cell.settings)


def _digests(env: Mapping[str, str]) -> Mapping[str, str]:
    return {name: f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:16]}" for name, value in sorted(env.items())}


def _by_slug(lock: Lock) -> Mapping[str, CellLock]:
    return {cell.slug: cell for cell in lock.cells}


def _fixed(lock: Lock) -> Mapping[str, Any]:
    facts = {"benchmark version": lock.benchmark, "stamina version": lock.package, "text of the prompts": lock.prompts}
    return facts | _flat(cattrs.unstructure(lock.sandbox), ("sandbox",))


def _facts(cell: CellLock) -> Mapping[str, Any]:
    """What may not change in a cell; turns and retries may grow and are looked at apart."""
    facts = _flat(cattrs.unstructure(attrs.evolve(cell, settings=attrs.evolve(cell.settings, turns=0, retries=0))), ())
    return {name.removeprefix("settings."): value for name, value in facts.items()}


def _flat(value: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """Nested mappings as dotted names, so that a difference names the key."""
    if isinstance(value, Mapping) and value:
        return {name: inner for key, below in value.items() for name, inner in _flat(below, (*path, str(key))).items()}
    return {".".join(path): value}


def _changes(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if _plain(old.get(name)) != _plain(new.get(name)):
            yield f"{prefix}{name} was {_shown(old.get(name))}, is {_shown(new.get(name))}"


def _growth(slug: str, old: Settings, new: Settings) -> Iterator[tuple[str, bool]]:
    """Lines about turns and retries that differ, and whether each grows."""
    for name, before, after in (("turns", old.turns, new.turns), ("retries", old.retries, new.retries)):
        if before != after:
            grows = after > before
            yield f"cell {slug}: {name} {before} → {after}" + ("" if grows else " (a run can only grow)"), grows


def _more(old: Lock, new: Lock) -> Iterator[str]:
    added = [seed for seed in new.seeds if seed not in set(old.seeds)]
    if added:
        yield f"{_listed(added)} {'is' if len(added) == 1 else 'are'} new"
    if new.repeats > old.repeats:
        yield f"repeats {old.repeats} → {new.repeats}"


def _other_images(old: Lock, new: Lock) -> Iterator[str]:
    """The image of before is taken wherever the engine still has it, so here it is gone."""
    for harness, image in new.images.items():
        before = old.images.get(harness, image)
        if before != image:
            yield (
                f"the image of {harness} was {before}, which this engine does not have any more, and is {image} "
                "(load the old one again, or go on with 'stamina resume RUN --other-images')"
            )


def _kept(old: Lock, new: Lock) -> Iterator[str]:
    gone = [seed for seed in old.seeds if seed not in set(new.seeds)]
    if gone:
        yield f"{_listed(gone)} {'stays as it is' if len(gone) == 1 else 'stay as they are'}"
    for slug in _by_slug(old):
        if slug not in _by_slug(new):
            yield f"cell {slug} stays as it is"
    if new.repeats < old.repeats:
        first, last = new.repeats + 1, old.repeats
        yield f"repeat {last} stays as it is" if first == last else f"repeats {first} to {last} stay as they are"


def _listed(seeds: Sequence[int]) -> str:
    numbers = ", ".join(map(str, seeds[:10])) + (f" and {len(seeds) - 10} more" if len(seeds) > 10 else "")
    return f"seed {numbers}" if len(seeds) == 1 else f"seeds {numbers}"


def _plain(value: Any) -> str:
    """As JSON has it: a tuple and a list, a word and an enum's member, are the same thing once stored."""
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    return "nothing" if value is None else _plain(value)
