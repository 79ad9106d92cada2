"""What the servers of the bench serve: a turn's suite, the right answers to it, and the server that the reference agent writes when it plays up to there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import attrs

from harnesses.reference import PROGRAM, program
from stamina.domain import ScenarioOptions
from stamina.exchange import Answer, Request, Response
from stamina.playing import play
from stamina.rest.domain import RestDomain, RestScenario
from stamina.suite import Suite


@attrs.frozen
class Material:
    """A turn of a scenario."""

    seed: int
    turn: int

    @property
    def scenario(self) -> RestScenario:
        """The scenario, as sampled."""
        return RestDomain().scenario(ScenarioOptions(seed=self.seed))

    def suite(self) -> Suite:
        """The turn's tests."""
        return self.scenario.suite(self.turn)

    def record(self, file: Path) -> None:
        """Write down what the ground truth answers; see :mod:`replay` for the form."""
        truth, rounds = self.scenario.truth(self.turn), []

        def noted(request: Request) -> Answer:
            answer = truth(request)
            assert isinstance(answer, Response)
            if request.path == "/reset":
                rounds.append([])
            rounds[-1].append((answer.status, answer.body.decode()))
            return answer

        assert play(self.suite(), noted).ok
        file.write_text(json.dumps(rounds))

    def reference_server(self, folder: Path) -> Path:
        """Have the reference agent play all turns up to this one in ``folder``; its workspace."""
        workspace, home = folder / "workspace", folder / "home"
        agent = home / PROGRAM
        workspace.mkdir(parents=True)
        agent.parent.mkdir(parents=True)
        agent.write_bytes(program())
        scenario, session = self.scenario, ()
        for name, text in scenario.files.items():
            (workspace / name).write_text(text)
        for turn in range(self.turn + 1):
            prompt = scenario.turn(turn).prompt.encode()
            command = [sys.executable, "-I", str(agent), *session]
            said = subprocess.run(command, input=prompt, cwd=workspace, env=os.environ | {"HOME": str(home)}, stdout=subprocess.PIPE, check=True).stdout
            events = [json.loads(line) for line in said.splitlines()]
            session = ("--session", next(event["session"] for event in events if event["type"] == "session"))
        return workspace
