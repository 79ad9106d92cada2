"""What is told of a scenario that ended without a result."""

from __future__ import annotations

import pytest

from actors.observer import ScenarioCrashed
from stamina.cli.progress import line_of
from tests.actors.fakes import works


@pytest.mark.parametrize(("traceback", "word"), [("Traceback …", "crashed through a bug"), ("", "stopped, to be put right")], ids=["a bug", "bad input"])
def test_input_that_cannot_be_used_is_no_bug(traceback: str, word: str) -> None:
    """A CLI that is not in the image, a damaged journal: whoever reads it can do something about it."""
    line = line_of(ScenarioCrashed(works(turns=0)[0], "the sandbox has no codex", traceback))
    assert line is not None
    assert line.endswith(f": {word}: the sandbox has no codex")
