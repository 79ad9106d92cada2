"""CPU that making suites costs, turn by turn: ``python scripts/bench/generation.py [--seed 0] [--turns 100] [--every 25]``.

Prints, for the turns that are asked for, the size of the state and of its suite, CPU per request when nothing is remembered and when the turn before was made
(which is how a scenario is played), and whether the suite passes against the ground truth. The last line sums up the whole scenario.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))

from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.playing import play
from stamina.rest import suite as suites
from stamina.rest.domain import RestDomain
from stamina.rest.origins import Origins
from stamina.rest.suite import kit

T = TypeVar("T")


def main() -> None:
    """Play one scenario's text and suites through, without an agent."""
    arguments = _arguments()
    scenario = RestDomain().scenario(ScenarioOptions(seed=arguments.seed))
    sampling = making = requests = 0.0
    print(f"{'turn':>4} {'entities':>8} {'actions':>7} {'cases':>5} {'requests':>8} {'cold µs/req':>11} {'warm µs/req':>11} {'truth µs/req':>12} passes")
    for turn in range(arguments.turns + 1):
        spent, _ = _timed(lambda turn=turn: scenario.turn(turn))  # type: ignore[misc]
        sampling += spent
        warm, suite = _timed(lambda turn=turn: scenario.suite(turn))  # type: ignore[misc]
        making, requests = making + warm, requests + suite.requests
        if turn % arguments.every == 0:
            state = scenario.state(turn)
            played, verdict = _timed(lambda suite=suite, turn=turn: play(suite, scenario.truth(turn)))  # type: ignore[misc]
            cold = _cold(lambda state=state: suites.build(state, Origins.of(state), Draw(arguments.seed)))  # type: ignore[misc]
            per = [f"{1e6 * each / suite.requests:.1f}" for each in (cold, warm, played)]
            actions = sum(len(entity.actions) for entity in state.entities)
            print(
                f"{turn:>4} {len(state.entities):>8} {actions:>7} {verdict.total:>5} {suite.requests:>8} {per[0]:>11} {per[1]:>11} {per[2]:>12} "
                f"{verdict.passed}/{verdict.total}"
            )
    print(f"all turns: states and text {sampling:.2f} s of CPU, suites {making:.2f} s, {1e6 * making / requests:.1f} µs a request over {requests:.0f} requests")


def _cold(make: Callable[[], object]) -> float:
    """CPU seconds of building with nothing remembered but the worlds of actions, which the sampler has looked for already."""
    for remembered in (suites._alone, suites._referring, suites._acting, kit.make_kit):
        remembered.cache_clear()
    return _timed(make)[0]


def _timed(make: Callable[[], T]) -> tuple[float, T]:
    begun = time.process_time()
    made = make()
    return time.process_time() - begun, made


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--every", type=int, default=25)
    return parser.parse_args()


if __name__ == "__main__":
    main()
