"""Play the reference agent's reading of the text over whole scenarios, without processes or sockets.

At every turn the agent's own reader is given what a real agent is given (specification and change requests); the server that it writes is loaded here, and the
turn's suite is played against it and against the ground truth. Every failed case is printed; the exit code is 1 when there was one.

    python scripts/play_reference.py --seeds 0-19 --turns 100
    python scripts/play_reference.py --seeds 0-3 --turns 100 --sampler difficulty --every 10
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import types
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harnesses.reference_agent.session import Session
from harnesses.reference_agent.writer import api_data, server_source
from stamina.domain import Handler, Sampler, ScenarioOptions
from stamina.exchange import Request, Response
from stamina.playing import play
from stamina.rest.domain import RestDomain


@attrs.frozen
class Played:
    """One seed: turns and cases that were played, requests of all suites, CPU seconds, and a line for each case that failed."""

    seed: int
    turns: int
    cases: int
    requests: int
    seconds: float
    failed: tuple[str, ...]


def server_of(module: Any, data: Any) -> Handler:
    """The agent's server of this API as a function."""
    api = module.Api(json.loads(json.dumps(data)))

    def handle(request: Request) -> Response:
        try:
            status, value = api.answer(request.method, request.path, request.payload() or b"")
        except module.Refused as refused:
            return Response(refused.status, module.encode({"error": str(refused)}))
        return Response(status, b"" if status == 204 else module.encode(value))

    return handle


def play_seed(seed: int, *, turns: int, every: int, sampler: Sampler) -> Played:
    """Play one scenario, the suite of every ``every``-th turn and of the last."""
    begun = time.process_time()
    module: Any = types.ModuleType("server")
    exec(compile(server_source(), "server.py", "exec"), module.__dict__)
    scenario = RestDomain().scenario(ScenarioOptions(seed=seed, sampler=sampler))
    session = Session.begun(scenario.files["initial_specification.md"])
    cases = requests = played = 0
    failed: list[str] = []
    for turn in range(turns + 1):
        if turn:
            session.requests.append(scenario.turn(turn).prompt)
        if turn % every and turn != turns:
            continue
        suite = scenario.suite(turn)
        for name, handler in (("truth", scenario.truth(turn)), ("reference", server_of(module, api_data(session.api())))):
            verdict = play(suite, handler)
            failed += [
                f"turn {turn}, {name}: {each.case.name}: {each.failure.message if each.failure else each.reason}"
                for each in verdict.results
                if each.status != "passed"
            ]
        cases, requests, played = cases + verdict.total, requests + suite.requests, played + 1
    return Played(seed, played, cases, requests, time.process_time() - begun, tuple(failed))


def main() -> int:
    """Parse the flags, play the seeds on ``--jobs`` processes, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-19", help="first-last")
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--every", type=int, default=1, help="play the suite of every n-th turn only; the text of every turn is read")
    parser.add_argument("--sampler", type=Sampler, default=Sampler.UNIFORM, choices=list(Sampler))
    parser.add_argument("--jobs", type=int, default=2)
    flags = parser.parse_args()
    first, _, last = flags.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    bad = cases = 0
    with ProcessPoolExecutor(flags.jobs) as pool:
        for each in pool.map(partial(play_seed, turns=flags.turns, every=flags.every, sampler=flags.sampler), seeds):
            print(
                f"seed {each.seed}: {each.turns} turns, {each.cases} cases, {each.requests} requests, {len(each.failed)} failed, {each.seconds:.0f} s CPU",
                flush=True,
            )
            print(*each.failed[:5], sep="\n", end="\n" if each.failed else "")
            bad, cases = bad + len(each.failed), cases + each.cases
    print(f"{len(seeds)} seeds, {cases} cases, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
