"""``images list``: what is ready, and what to build."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.recipes import BASE, names, recipe
from stamina.cli.app import main
from tests.cli.test_engine_trouble import ABOUT, IMAGE, engine


def image(number: int, name: str, digest: str, *tags: str) -> dict[str, Any]:
    """As an engine tells of it."""
    labels = {"stamina.image": name, "stamina.recipe": digest}
    return {**IMAGE, "Id": f"sha256:{number}", "RepoTags": list(tags), "Config": {"Labels": labels, "Env": []}, "Size": number << 20}


IMAGES = [
    image(1500, BASE, recipe(BASE).digest, "stamina/base:new"),
    image(1400, BASE, "x", "stamina/base:old"),
    image(1300, "codex", "x", "stamina/codex:old"),
    image(1200, "warden-build", recipe(BASE).digest),
]


@pytest.fixture
def _known(monkeypatch: pytest.MonkeyPatch) -> Any:
    with engine(ABOUT, {}, {each["Id"]: each for each in IMAGES}) as host:
        monkeypatch.setenv("DOCKER_HOST", host)
        yield


@pytest.mark.usefixtures("_known")
def test_each_image_has_one_line_and_the_rest_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    """What a person asks is whether a harness can be played, and what to do."""
    assert main(["images", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == names()
    assert lines[1].split() == ["base", "ready", "1,500", "MiB", "stamina/base:new"]
    assert " ".join(lines[1 + names().index("codex")].split()) == "codex of another version"
    assert " ".join(lines[1 + names().index("vibe")].split()) == "vibe not built"
    assert lines[-2] == f"to build what is not ready: stamina images build {' '.join(name for name in names() if name != BASE)}"
    assert lines[-1].startswith("beside them 3 images of other versions or of builds")


@pytest.mark.usefixtures("_known")
def test_all_of_them_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["images", "list", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(IMAGES)
    assert main(["images", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0] == {"name": "base", "tag": "stamina/base:new", "id": "sha256:1500", "bytes": 1500 << 20, "current": True}
