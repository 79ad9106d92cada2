"""A scripted model without a network, a scenario of the benchmark, and a judge of the server that comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs

from actors.tester import TesterLimits, run_suite
from harnesses.scripted_model.coder import Place
from harnesses.scripted_model.ledger import Served
from harnesses.scripted_model.model import Asked, Ending, Said, ScriptedModel
from stamina.config.model import ModelConfig, Provider
from stamina.config.script import ScriptConfig
from stamina.domain import FeedbackLevel, Scenario, ScenarioOptions
from stamina.protocols import Protocol
from stamina.rest.domain import RestDomain
from stamina.suite import Verdict
from tests.harnesses.agent_lab import serving_files
from tests.harnesses.mini_cli import Failed, MiniCli
from tests.waiting import SECONDS

NAMES = ("server.py", "api.json", "run_server.sh")


def model_of(script: ScriptConfig | None = None, **members: Any) -> ModelConfig:
    return ModelConfig("m", Provider.SCRIPTED, "scripted-1", **{"context_window": 200_000, "script": script or ScriptConfig(), **members})


@attrs.define
class Lab:
    """One scenario played by one small CLI with one model, directly."""

    workspace: Path
    protocol: str = "chat"
    stream: bool = False
    config: ModelConfig = attrs.field(factory=model_of)
    seed: int = 1
    ledger: list[Served] = attrs.field(factory=list)
    place: Place = attrs.field(factory=Place)
    number: int = 0
    model: ScriptedModel = attrs.field(init=False)
    cli: MiniCli = attrs.field(init=False)
    scenario: Scenario = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.model = ScriptedModel(self.config, self.ledger.append)
        self.scenario = RestDomain().scenario(ScenarioOptions(seed=self.seed))
        self.workspace.mkdir(exist_ok=True)
        for name, text in self.scenario.files.items():
            (self.workspace / name).write_text(text)
        self.cli = self.new_cli()

    def new_cli(self, **members: Any) -> MiniCli:
        """Another session."""
        return MiniCli(self.protocol, self.send, self.workspace, self.stream, **members)

    async def send(self, body: dict[str, Any], stream: bool) -> tuple[int, bytes]:
        self.number += 1
        return self.hand_on(self.respond(body, stream=stream, number=self.number - 1))

    def respond(self, body: dict[str, Any], *, stream: bool = False, number: int = 0, **members: Any) -> Said:
        asked = Asked(("c", self.seed, 0), self.place, number, Protocol(self.protocol), json.dumps(body).encode(), stream=stream, **members)
        return self.model.respond(asked)

    def hand_on(self, said: Said) -> tuple[int, bytes]:
        if said.status is None or said.ending is not Ending.WHOLE:
            self.model.abandoned(said)
            raise Failed("no whole answer")
        self.model.delivered(said)
        return said.status, b"".join(said.pieces)

    async def turn(self, number: int) -> str:
        """The agent call of a turn's first attempt."""
        self.place = Place(0, number)
        return await self.cli.call(self.scenario.turn(number).prompt)

    async def feed_back(self, verdict: Verdict, attempt: int) -> str:
        """The agent call of a further attempt."""
        self.place = Place(0, self.place.turn, attempt)
        return await self.cli.call(self.scenario.feedback(verdict, FeedbackLevel.DETAILED))

    async def judge(self, turn: int) -> Verdict:
        """The suite of a turn, on the server in the workspace."""
        return await judged(self.workspace, self.scenario, turn)


async def judged(workspace: Path, scenario: Scenario, turn: int) -> Verdict:
    """The suite of a turn, on the server in a workspace; it runs in this process."""
    files = {name: (workspace / name).read_text() for name in NAMES}
    with serving_files(files) as client:
        return await run_suite(scenario.suite(turn), ("127.0.0.1", client.port), TesterLimits(answer_seconds=SECONDS))
