"""Sweep files and harnesses for these tests."""

import attrs

from stamina.config.load import parse
from stamina.config.model import HarnessInfo, Sweep


@attrs.frozen
class Weaknesses:
    """Keys of a harness of its own."""

    chance: float = 0.0
    kinds: tuple[str, ...] = ()


HARNESSES = {
    info.name: info
    for info in (
        HarnessInfo("opencode", uses_model=True, protocols=("chat",)),
        HarnessInfo("reference", uses_model=False),
        HarnessInfo("mock", False, Weaknesses),
    )
}

SMALL = """\
[sweep]
name = "small"
seeds = "0-1"

[[agent]]
harness = "reference"
"""

LARGE = """\
[sweep]
name = "large"
seeds = "0-19"
turns = 100
retries = 2
concurrency = 40

[sandbox]
engine = "docker"
memory = "4GiB"
env = { LANG = "C" }

[[agent]]
harness = "opencode"
version = "1.4.3"
model = "glm-5"

[[agent]]
harness = "mock"
chance = 0.5
kinds = ["validation"]

[model.glm-5]
provider = "bedrock"
id = "zai.glm-5"
context_window = 200000
price = { input = 0.60, output = 2.08 }
api_key_env = "GLM_KEY"

[budget]
scenario_usd = 50
sweep_usd = 1500

[[vary]]
feedback = ["detailed", "minimal"]
language = ["python", "rust"]
"""


def sweep(text: str = SMALL, *flags: str) -> Sweep:
    """The sweep of a text."""
    return parse(text, "s.toml", flags, harnesses=HARNESSES)
