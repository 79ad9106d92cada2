"""Every harness in its real image, the real CLI against the scripted model, six turns: ``make test-harnesses``.

The names come from STAMINA_HARNESSES (all by default). In the folder STAMINA_FINDINGS is kept what was seen, for scripts/harness_table.py, and in its folder
``transcripts`` what each agent did in all its turns, as ATIF (scripts/atif_check.py).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import attrs
import pytest

from harnesses.registry import HARNESSES
from scenario_store.run import Run
from scenario_store.usage import read_requests
from stamina.cli.app import main
from stamina.cli.conformance import Behaviour, Finding, play
from stamina.cli.progress import plain
from tests.docker.harness_plays import Plays, each

CANNOT: Final[dict[str, set[Behaviour]]] = {
    "vibe": {Behaviour.TOOLS},  # after a kill it goes on with the interrupted turn before it takes the prompt, and its output has nothing of that
}
"""What a CLI cannot do; it is in the table as such. A CLI that has learned it fails here, until this page says so."""


@pytest.mark.docker
@pytest.mark.harnesses
@each()
def test_six_turns_with_everything_that_real_runs_bring(harness: str, plays: Plays) -> None:
    """A mistake that feedback repairs, a provider that fails, a CLI that its agent kills, a conversation that grows too long."""
    played = plays.of(harness)
    found = played.findings
    keep(harness, found, played.run)
    wrong = {finding.behaviour: finding.detail for finding in found if not finding.right}
    assert set(wrong) == CANNOT.get(harness, set()), wrong


@pytest.mark.docker
@pytest.mark.harnesses
@each()
def test_two_turns_in_each_other_protocol_that_it_claims(harness: str, host: str, tmp_path: Path) -> None:
    """The six turns are played in its first one."""
    for protocol in HARNESSES[harness].protocols[1:]:
        run = tmp_path / protocol
        found = play(harness, run, plain, overrides=(f'agent.0.protocol="{protocol}"',))
        (folder,) = Run.open(run).scenarios()
        assert {request.protocol for request in read_requests(folder.path)} == {protocol}
        write(f"protocols/{harness}.{protocol}.json", found)
        assert [finding for finding in found if not finding.right] == []


def keep(harness: str, found: tuple[Finding, ...], run: Path) -> None:
    folder = write(f"{harness}.json", found)
    if folder is not None:
        assert main(["trajectories", str(run), "--out", str(folder / "transcripts")]) == 0


def write(name: str, found: tuple[Finding, ...]) -> Path | None:
    """Into the folder that was given, if any."""
    given = os.environ.get("STAMINA_FINDINGS")
    if not given:
        return None
    folder = Path(given).absolute()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps([attrs.asdict(finding) for finding in found], indent=1))
    return folder
