"""The adapter of the reference agent: the command it makes, the program it packs, and how it reads what came out."""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from harnesses.harness import CallContext, CallEnd
from harnesses.reference import PROGRAM, ReferenceHarness, program
from harnesses.registry import make_harness
from stamina.config.model import AgentConfig
from stamina.outcome import Cause

SESSION = '{"type": "session", "session": "abc"}\n'
DONE = '{"type": "done", "requests": 1}\n'


def context(**values: Any) -> CallContext:
    defaults = {"turn": 1, "attempt": 0, "call": 0, "prompt": "The API changes.", "session": None}
    return CallContext(**{**defaults, **values}, workspace=PurePosixPath("/w"), home=PurePosixPath("/h"))


def end(folder: Path, stdout: str = "", stderr: str = "", **values: Any) -> CallEnd:
    (folder / "out").write_text(stdout)
    (folder / "err").write_text(stderr)
    defaults = {"exit_code": 0, "signal": None, "seconds": 1.5, "expired": None}
    return CallEnd(**{**defaults, **values}, stdout=folder / "out", stderr=folder / "err")


def test_the_registry_makes_it() -> None:
    """The name in a sweep file leads to this adapter, which runs no model."""
    harness = make_harness(AgentConfig("reference"))
    assert (harness.name, harness.uses_model) == ("reference", False)


def test_a_command_needs_nothing_but_python() -> None:
    """One file in HOME, the prompt on stdin, the session as an argument."""
    command = ReferenceHarness().command(context(session="abc"))
    assert command.argv == ("python3", "-I", f"/h/{PROGRAM}", "--session", "abc")
    assert command.stdin == b"The API changes."
    assert dict(command.files) == {PROGRAM: program()}
    assert "--session" not in ReferenceHarness().command(context()).argv


def test_the_program_imports_only_the_standard_library_and_itself() -> None:
    """It could not run in a sandbox otherwise, and its reading of the text must be its own."""
    with zipfile.ZipFile(io.BytesIO(program())) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist()}
    assert "harnesses/reference_agent/server_template.py" in sources
    for name, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                assert module.startswith("harnesses.reference_agent") or module.split(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"


def test_the_program_is_the_same_bytes_each_time() -> None:
    """Nothing of the clock or of the file system is in it."""
    packed = program()
    program.cache_clear()
    assert program() == packed


def test_a_call_with_a_final_event_is_completed(tmp_path: Path) -> None:
    """The session id is handed on."""
    report = ReferenceHarness().read(context(), end(tmp_path, SESSION + DONE))
    assert (report.completed, report.cause, report.session) == (True, None, "abc")


@pytest.mark.parametrize(
    ("how", "detail"),
    [
        ({"stdout": SESSION}, "exit code 0, but no done event at the end of its output"),
        ({"stdout": DONE + SESSION}, "exit code 0, but no done event at the end of its output"),
        ({"stdout": DONE, "exit_code": 1, "stderr": "first\nchange request 3:5: expected a change\n\n"}, "exit code 1: change request 3:5: expected a change"),
        ({"exit_code": 127}, "exit code 127: nothing on stderr"),
        ({"stdout": DONE, "exit_code": None, "signal": 9}, "ended by signal 9 (SIGKILL)"),
        ({"exit_code": None, "signal": 99}, "ended by signal 99 (unknown)"),
        ({"exit_code": None, "signal": 15, "expired": "wall", "seconds": 60.2}, "ended by us after 60 s: its wall clock ran out"),
    ],
)
def test_failures_are_told_apart(tmp_path: Path, how: dict[str, Any], detail: str) -> None:
    """Each way of not completing has its own sentence, and the harness is to blame."""
    report = ReferenceHarness().read(context(session="old"), end(tmp_path, **how))
    assert (report.completed, report.cause, report.detail) == (False, Cause.HARNESS, detail)


@pytest.mark.parametrize(
    "noise", ["[1]\n", "not json\n", '{"type": 5}\n', '{"no": "type"}\n', "[" * 100_000 + "\n", '{"type": "session", "session": 5}\n', "\x00\n"]
)
def test_strange_output_is_passed_over(tmp_path: Path, noise: str) -> None:
    """Whatever else is in the output, the events are found."""
    assert ReferenceHarness().read(context(session="old"), end(tmp_path, noise + SESSION + DONE)).completed


def test_output_that_is_missing_or_no_text_is_a_report(tmp_path: Path) -> None:
    """Reading never raises."""
    strange = end(tmp_path, exit_code=1)
    strange.stdout.unlink()
    strange.stderr.write_bytes(b"\xff\xfe\n")
    assert ReferenceHarness().read(context(session="old"), strange).session == "old"
