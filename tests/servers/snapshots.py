"""Finds the servers that were written by hand; handwritten/README.md says how they came about."""

from __future__ import annotations

import tomllib
from pathlib import Path

import attrs

FOLDER = Path(__file__).with_name("handwritten")


@attrs.frozen
class Snapshot:
    """One server at one turn of the scenario of ``seed``."""

    name: str
    seed: int
    language: str
    turn: int

    @property
    def id(self) -> str:
        """For the test's name."""
        return f"{self.name}-{self.turn}"

    @property
    def folder(self) -> Path:
        """The workspace."""
        return FOLDER / self.name / f"turn-{self.turn:02}"


def snapshots() -> list[Snapshot]:
    """All of them, by name and turn. Raises KeyError when a meta.toml lacks something."""
    found = list[Snapshot]()
    for path in sorted(FOLDER.glob("*/meta.toml")):
        meta = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [Snapshot(path.parent.name, meta["seed"], meta["language"], turn) for turn in meta["turns"]]
    return found


SNAPSHOTS = snapshots()
