"""Images and adapters say the same."""

import json
import re
from typing import Any

import pytest

from harnesses.recipes import names, recipe
from harnesses.registry import BUILT_IN, HARNESSES, make_harness
from stamina.config.model import AgentConfig

CLIS = [entry.name for entry in BUILT_IN if HARNESSES[entry.name].uses_model and entry.name in names()]


@pytest.mark.parametrize("name", CLIS)
def test_an_image_has_the_version_that_its_adapter_was_written_for(name: str) -> None:
    """In its smoke test, which is tried at each build, and in what is installed."""
    program = make_harness(AgentConfig(name)).program
    assert program is not None
    made = recipe(name)
    assert str(program.version) in made.smoke
    installed = b"".join(content for path, content in made.files.items() if path.endswith((".json", ".txt", ".in"))).decode()
    assert str(program.version) in installed


def _for_images(entry: dict[str, Any]) -> bool:
    """Parts for other systems and processors are listed in a lock and never installed in an image."""
    return "linux" in entry.get("os", ["linux"]) and "x64" in entry.get("cpu", ["x64"])


@pytest.mark.parametrize("name", CLIS)
def test_what_is_installed_is_locked_by_hashes_and_names_no_address(name: str) -> None:
    """Registries differ from place to place; what comes from them may not. Optional parts for other machines have no hash where the registry lacked them."""
    for path, content in recipe(name).files.items():
        text = content.decode(errors="replace")
        if path.endswith("package-lock.json"):
            packages = {at: entry for at, entry in json.loads(text)["packages"].items() if at and not entry.get("link") and _for_images(entry)}
            assert packages
            assert all("resolved" not in entry and ("integrity" in entry or entry.get("optional")) for entry in packages.values())
        if path.endswith(".txt"):
            assert "--hash=sha256:" in text
            assert not re.search(r"--(?:extra-)?index-url|--find-links|https?://(?!pip)", re.sub(r"#.*", "", text))
