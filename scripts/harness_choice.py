"""Prints the harnesses that CI plays this time: three light ones and a heavy one, chosen by a commit's hash.

python scripts/harness_choice.py COMMIT
"""

from __future__ import annotations

import sys

from harnesses.recipes import names
from harnesses.registry import BUILT_IN, HARNESSES

HEAVY = ("opencode", "openhands")
"""Minutes of CPU each: one of them at a time."""


def choice(commit: str, clis: list[str]) -> list[str]:
    """Three light ones and a heavy one."""
    number = int(commit[:8], 16)
    light = [name for name in clis if name not in HEAVY]
    heavy = [name for name in clis if name in HEAVY]
    some = [light[(number + at) % len(light)] for at in range(min(3, len(light)))]
    return [*some, *([heavy[number // len(light) % len(heavy)]] if heavy else [])]


if __name__ == "__main__":
    print(*choice(sys.argv[1], [entry.name for entry in BUILT_IN if HARNESSES[entry.name].uses_model and entry.name in names()]))
