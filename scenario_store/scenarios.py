"""Generated scenarios as files, to be read, compared, published and kept.

::

    OUT/seed-7/
      scenario.json             format, domain, benchmark version, options, sha256 of every other file, and one digest over all; written last
      files/README.md           what lies in the workspace before turn 0
      turns/003/prompt.md       what the agent is told
      turns/003/state.json      the state in its canonical JSON
      turns/003/changes.json    the changes that led to it, empty at turn 0

Texts and states are bytes that the domain made; this module knows no domain. Versions and names are in docs/formats.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from cattrs import transform_error
from cattrs.preconf.json import make_converter

from scenario_store.atomic import host_faults, write_atomic
from stamina.domain import ScenarioOptions
from stamina.errors import InputError

FORMAT: Final = 1
"""Version of the folder's layout."""


@attrs.frozen
class StoredTurn:
    """One turn. ``state`` is a JSON document, ``changes`` a JSON array."""

    turn: int
    prompt: str
    state: bytes
    changes: bytes


@attrs.frozen
class StoredScenario:
    """A scenario up to some turn.

    Attributes:
        domain, benchmark: whose it is, and the benchmark version that made it (contract T7).
        options: all else that decided its bytes.
        files: laid in the workspace before turn 0.
        turns: from 0 on, without a gap.
    """

    domain: str
    benchmark: str
    options: ScenarioOptions
    files: Mapping[str, str]
    turns: tuple[StoredTurn, ...]


@attrs.frozen
class Manifest:
    """What ``scenario.json`` holds. ``contents``: path below the folder ► sha256 (hex)."""

    format: int
    domain: str
    benchmark: str
    options: ScenarioOptions
    turns: int
    contents: Mapping[str, str]
    digest: str


def write_scenario(out: Path, scenario: StoredScenario) -> Manifest:
    """Write a scenario below ``out``, in a folder named after its seed.

    A folder that holds the same scenario already is left alone. Raises InputError when it holds another one, HostFault when the disk fails.
    """
    folder = out / f"seed-{scenario.options.seed}"
    contents = dict(_contents(scenario))
    manifest = _manifest(scenario, contents)
    if (folder / "scenario.json").exists():
        if read_manifest(folder).digest != manifest.digest:
            raise InputError(f"{folder} holds another scenario of this seed (other options, turns or benchmark version). Choose another folder with --out")
        return manifest
    for name, content in contents.items():
        with host_faults("create", folder / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / name, content)
    write_atomic(folder / "scenario.json", json.dumps(make_converter().unstructure(manifest), indent=2).encode() + b"\n")
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest of one scenario's folder. Raises InputError when there is none, or one of another version."""
    path = folder / "scenario.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no scenario.json: it is no stored scenario, or its writing was cut short")
    try:
        data: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise InputError(f"{path} has format {data.get('format')!r}, this version of stamina reads {FORMAT}")
    try:
        return make_converter(forbid_extra_keys=True).structure(data, Manifest)
    except Exception as error:
        raise InputError(f"{path} is damaged: {'; '.join(transform_error(error, path='scenario'))}") from error


def read_scenario(folder: Path) -> StoredScenario:
    """A stored scenario, each file checked against its digest. Raises InputError when one is missing or differs."""
    manifest = read_manifest(folder)
    contents = {name: _checked(folder / name, digest) for name, digest in manifest.contents.items()}
    files = {name.removeprefix("files/"): content.decode() for name, content in contents.items() if name.startswith("files/")}
    turns = tuple(_turn(turn, contents) for turn in range(manifest.turns))
    return StoredScenario(manifest.domain, manifest.benchmark, manifest.options, files, turns)


def stored_scenarios(out: Path) -> tuple[Manifest, ...]:
    """The manifests of all scenarios below ``out``, by seed."""
    return tuple(sorted((read_manifest(path.parent) for path in out.glob("*/scenario.json")), key=lambda manifest: manifest.options.seed))


def _contents(scenario: StoredScenario) -> Iterator[tuple[str, bytes]]:
    for name, text in sorted(scenario.files.items()):
        yield f"files/{name}", text.encode()
    for turn in scenario.turns:
        yield f"turns/{turn.turn:03}/prompt.md", turn.prompt.encode()
        yield f"turns/{turn.turn:03}/state.json", turn.state
        yield f"turns/{turn.turn:03}/changes.json", turn.changes


def _manifest(scenario: StoredScenario, contents: Mapping[str, bytes]) -> Manifest:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    identity = [FORMAT, scenario.domain, scenario.benchmark, make_converter().unstructure(scenario.options), digests]
    whole = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return Manifest(FORMAT, scenario.domain, scenario.benchmark, scenario.options, len(scenario.turns), digests, whole)


def _turn(turn: int, contents: Mapping[str, bytes]) -> StoredTurn:
    prompt, state, changes = (contents[f"turns/{turn:03}/{name}"] for name in ("prompt.md", "state.json", "changes.json"))
    return StoredTurn(turn, prompt.decode(), state, changes)


def _checked(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(f"{path} was changed since it was written: its digest differs from scenario.json's")
    return content
