"""Reads a sweep file. What is wrong is told all at once: file and line (or flag), key, what was expected, the nearest right name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import tomli

from stamina.config.checks import cross_problems
from stamina.config.file import SETTING_KEYS, SweepFile, budget_of, model_of, sandbox_of, written_variables
from stamina.config.kinds import suggestion
from stamina.config.lines import KeyPath, key_lines, line_of
from stamina.config.model import HarnessInfo, Settings, Sweep
from stamina.config.overrides import Override, override, parse_override
from stamina.config.structure import Problem, structured
from stamina.errors import InputError


def load(path: Path, overrides: Sequence[str] = (), *, harnesses: Mapping[str, HarnessInfo]) -> Sweep:
    """The sweep in ``path``, with ``overrides`` such as ``"sweep.turns=5"`` applied to it.

    Raises :class:`InputError` whose message has one line for each problem.
    """
    return parse(read_text(path), str(path), overrides, harnesses=harnesses)


def parse(text: str, source: str, overrides: Sequence[str] = (), *, harnesses: Mapping[str, HarnessInfo]) -> Sweep:
    """The same from a text; ``source`` is what messages call it."""
    try:
        raw = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise InputError(f"{source}:{error.lineno}: not valid TOML: {error.msg} (column {error.colno})") from error
    flags = [override(raw, parse_override(flag)) for flag in overrides]
    file, problems = structured(raw, SweepFile)
    if file is not None:
        problems = tuple(cross_problems(file, harnesses))
    if file is None or problems:
        raise InputError("\n".join(_Places(source, key_lines(text), flags).told(problems)))
    return _sweep(file, raw)


def check_keys(sweep: Sweep, environment: Mapping[str, str], *, unused: bool = False) -> None:
    """Every ``api_key_env`` of a model in use (of all with ``unused``) names a variable that is set. Raises :class:`InputError`; only a real run needs this."""
    used = {agent.model for agent in sweep.agents} | {model for grid in sweep.vary for model in grid.get("model", ())}
    used |= set(sweep.models) if unused else set()
    missing = [(model.name, model.api_key_env) for model in sweep.models.values() if model.name in used and model.api_key_env]
    lines = [f"[model.{name}] api_key_env: the variable {variable} is not set" for name, variable in missing if not environment.get(variable)]
    if lines:
        raise InputError("\n".join(lines))


def place(path: KeyPath) -> str:
    """A key as it stands in the file: ``[[agent]] 2, model``."""
    head, *rest = path
    if head in ("agent", "vary") and rest:
        number = int(rest.pop(0)) + 1
        table = f"[[{head}]] {number}"
    elif head == "model" and rest:
        table = f"[model.{rest.pop(0)}]"
    else:
        table = f"[{head}]"
    keys = ".".join(str(part) if isinstance(part, str) else f"{part + 1}" for part in rest)
    return f"{table} {keys}".strip() if not table[-1].isdigit() or not keys else f"{table}, {keys}"


@attrs.frozen
class _Places:
    """Knows for each key who wrote it: a line of the file, or a flag."""

    source: str
    lines: Mapping[KeyPath, int]
    flags: Sequence[Override]

    def told(self, problems: Iterable[Problem]) -> list[str]:
        """One line a problem, in the order of the file."""
        in_order = sorted(problems, key=lambda problem: line_of(self.lines, problem.path) or 0)
        return [f"{self._where(problem.path)}: {place(problem.path)}: {problem.text}" for problem in in_order]

    def _where(self, path: KeyPath) -> str:
        for flag in reversed(self.flags):
            if path[: len(flag.path)] == flag.path:
                return f"--set {flag.text}"
        line = line_of(self.lines, path)
        return self.source if line is None else f"{self.source}:{line}"


def read_text(path: Path) -> str:
    """The sweep file's text. Raises :class:`InputError`, with the nearest file that is there."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file in UTF-8 (byte {error.start})") from error
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file{_neighbour(path)}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _neighbour(path: Path) -> str:
    names = sorted(other.name for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
    return f"; {suggestion(path.name, names, 'sweep files in that folder')}" if names else ""


def _sweep(file: SweepFile, raw: Mapping[str, Any]) -> Sweep:
    own = {key: value for table in (file.sweep, file.scenario) for key, value in attrs.asdict(table, recurse=False).items()}
    return Sweep(
        name=file.sweep.name,
        seeds=file.sweep.seeds,
        agents=tuple(config for agent in file.agent for config in agent.configs),
        repeats=file.sweep.repeats,
        concurrency=file.sweep.concurrency,
        settings=Settings(**{key: own[key] for key in SETTING_KEYS}),
        sandbox=sandbox_of(file.sandbox),
        models={name: model_of(name, table) for name, table in file.model.items()},
        budget=budget_of(file.budget),
        vary=tuple({key: written_variables(grid)[key] for key in written} for grid, written in zip(file.vary, raw.get("vary", ()), strict=True)),
    )
