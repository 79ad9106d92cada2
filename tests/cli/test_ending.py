"""How commands end: exit codes, messages, and where a bug's traceback goes."""

from pathlib import Path

import click
import pytest

from stamina.cli.ending import Traces, ended
from stamina.errors import HostFault, InputError, StaminaError


def raising(error: BaseException) -> object:
    """A command that raises."""

    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (1, 1), (130, 130)])
def test_a_command_says_its_exit_code(result: int | None, code: int) -> None:
    """None is done."""
    assert ended(lambda: result) == code


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("x.toml:3: wrong"), 2, "x.toml:3: wrong\n"),
        (HostFault("the disk is full"), 2, "the disk is full\n"),
        (ExceptionGroup("", [InputError("a"), ExceptionGroup("", [InputError("b")])]), 2, "a\nb\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (BaseExceptionGroup("", [KeyboardInterrupt(), InputError("a")]), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (click.BadParameter("no"), 2, "Error: Invalid value: no\n"),
    ],
)
def test_what_the_user_did_gets_one_message(error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback, alone or from a nursery."""
    assert ended(raising(error)) == code

    assert capsys.readouterr().err == said


def test_a_bug_leaves_its_traceback_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The user sees two lines; the file has the rest."""
    monkeypatch.setattr(Traces, "folder", tmp_path)
    monkeypatch.delenv("STAMINA_DEBUG", raising=False)

    assert ended(raising(ExceptionGroup("", [ZeroDivisionError("oops"), StaminaError("x")]))) == 1

    said = capsys.readouterr().err
    [file] = tmp_path.iterdir()
    assert "Traceback" not in said
    assert str(file) in said
    assert "ZeroDivisionError: oops" in file.read_text()


def test_debugging_prints_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """STAMINA_DEBUG=1."""
    monkeypatch.setenv("STAMINA_DEBUG", "1")

    assert ended(raising(ZeroDivisionError("oops"))) == 1

    assert "Traceback" in capsys.readouterr().err
