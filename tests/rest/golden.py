"""Digests of a few scenarios, recorded once: every Python on every platform must make the same bytes.

``python -m tests.rest.golden`` needs attrs and cattrs only, prints what differs and exits 1 if anything does; with ``--write`` it records. Recording anew
means that scenarios have changed, and so has the benchmark version (T7).
"""

import hashlib
import json
import sys
from pathlib import Path

from stamina.domain import Sampler, ScenarioOptions
from stamina.rest.canonical import digest, dumps_change
from stamina.rest.sampling import initial, sample_transition

FILE = Path(__file__).with_name("golden.json")

SHORT = (ScenarioOptions(seed=1), ScenarioOptions(seed=2, seed_salt="pepper"), ScenarioOptions(seed=3, sampler=Sampler.DIFFICULTY, changes_per_turn=6))
LONG = (ScenarioOptions(seed=0),)


def name_of(options: ScenarioOptions) -> str:
    """How a scenario is called in the file."""
    return f"{options.sampler.value} k={options.changes_per_turn} seed={options.seed} salt={options.seed_salt!r}"


def digests(options: ScenarioOptions, last: int) -> dict[str, str]:
    """The digests of the states of turns 0, 10 and 100, as far as ``last``, and one of all changes up to it."""
    state, changes = initial(options), hashlib.sha256()
    found = {"0": digest(state)}
    for turn in range(1, last + 1):
        transition = sample_transition(state, options, turn)
        state = transition.after
        for change in transition.changes:
            changes.update(dumps_change(change) + b"\n")
        if turn in (10, 100):
            found[str(turn)] = digest(state)
    return found | {f"changes to {last}": changes.hexdigest()}


def current(scenarios: tuple[ScenarioOptions, ...], last: int) -> dict[str, dict[str, str]]:
    """The digests that this Python makes now, by scenario."""
    return {name_of(options): digests(options, last) for options in scenarios}


def recorded() -> dict[str, dict[str, str]]:
    """The digests in the file, by scenario."""
    data: dict[str, dict[str, str]] = json.loads(FILE.read_text())
    return data


def main() -> int:
    """Compare, or record with ``--write``."""
    now = current(SHORT, 10) | current(LONG, 100)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(now, indent=2, sort_keys=True) + "\n")
        return 0
    different = [name for name in now if now[name] != recorded().get(name)]
    print(f"Python {sys.version.split()[0]}: {len(now) - len(different)} of {len(now)} scenarios as recorded", *different, sep="\n  differs: ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
