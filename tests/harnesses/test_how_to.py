"""The adapter that docs/how-to/add-a-harness.md shows is one."""

import re
import types
from pathlib import Path, PurePosixPath

from harnesses.harness import CallEnd
from harnesses.registry import Registration
from stamina.config.model import AgentConfig
from tests.harnesses.cli_lab import context, jsonl, steps

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-harness.md"


def test_the_example_is_an_adapter(tmp_path: Path) -> None:
    """It makes a command, and reads what its CLI would say."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    module = types.ModuleType("example_stamina")
    exec(found[1], module.__dict__)
    registration: Registration = module.REGISTRATION
    harness = registration.make(AgentConfig("example", args=("-v",)))
    assert (registration.info.name, registration.info.protocols) == ("example", ("chat",))
    assert harness.command(context(session="s1")).argv[-3:] == ("--resume", "s1", "-v")
    events = [{"type": "session", "id": "s1"}, {"type": "heartbeat"}, {"type": "text", "text": "Hi."}, {"type": "tool"}, {"type": "done"}]
    (tmp_path / "out").write_bytes(jsonl(*events))
    report = harness.read(context(), CallEnd(0, None, 1.0, None, tmp_path / "out", tmp_path / "err"))
    assert (report.completed, report.session, steps(report), report.unknown) == (True, "s1", [("Message", "Hi.")], {"tool": 1})
    assert PurePosixPath(harness.program.state[0] if harness.program else "") == PurePosixPath(".example")
