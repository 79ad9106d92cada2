"""The program as a process: exit codes, signals, streams."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stamina.cli.app import main
from tests.waiting import SECONDS

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments: str) -> list[str]:
    """This Python, our program."""
    return [sys.executable, "-m", "stamina", *arguments]


def environment() -> dict[str, str]:
    """The program is found from any folder."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as most people have it
    return {**buffered, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


def stamina(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    return subprocess.run(command(*arguments), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)


@contextmanager
def running(*arguments: str, cwd: Path, stderr: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on; killed at the end if need be."""
    with subprocess.Popen(command(*arguments), cwd=cwd, env=environment(), stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_from(stream: object) -> str:
    """The next line of a process's output."""
    return stream.readline().strip()  # type: ignore[attr-defined]


def test_a_server_of_the_ground_truth_passes_its_own_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`serve` and `check` over a real socket, of a seed and of a state from a file; another turn's tests fail; Ctrl-C ends the server with 130."""
    main(["scenarios", "show", "--seed", "5", "--turn", "1", "--what", "state", "--json"])
    state = tmp_path / "state.json"
    state.write_text(capsys.readouterr().out)
    with running("serve", "--state", "state.json", cwd=tmp_path) as server:
        url = line_from(server.stdout)
        good = main(["check", "--seed", "5", "--turn", "1", "--url", url, "--json"]), json.loads(capsys.readouterr().out)
        bad = main(["check", "--seed", "5", "--turn", "4", "--url", url]), capsys.readouterr().out
        server.send_signal(signal.SIGINT)
        assert server.wait(SECONDS) == 130

    assert good[0] == 0
    assert good[1]["failed"] == []
    assert good[1]["passed"] == good[1]["total"] > 0
    assert bad[0] == 1
    assert "cases passed" in bad[1]


def test_a_server_that_is_not_there_fails_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    """Quickly, and not as bad input."""
    assert main(["check", "--seed", "5", "--url", "http://127.0.0.1:9", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["passed"], len(verdict["failed"])) == (0, verdict["total"])


def test_cases_that_were_not_played_are_counted_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """What tells the reason stands out."""
    assert main(["check", "--seed", "5", "--url", "http://127.0.0.1:9"]) == 1
    *told, unplayed, last = capsys.readouterr().out.splitlines()
    assert len(told) == 4
    assert "cannot connect" in told[1]
    assert unplayed.endswith("cases: not run: server gone")
    assert last.startswith("0 of ")


def test_bad_input_creates_nothing(tmp_path: Path) -> None:
    """One message on stderr, exit 2, no folder."""
    (tmp_path / "bad.toml").write_text('[sweep]\nname = "x"\nseeds = 0\ntuns = 1\n[[agent]]\nharness = "reference"\n')
    result = stamina("run", "bad.toml", cwd=tmp_path)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == 'bad.toml:4: [sweep] tuns: unknown key; did you mean "turns"?\n'
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """`stamina … | head`."""
    with running("scenarios", "show", "--turn", "5", "--what", "truth", cwd=tmp_path) as process:
        line_from(process.stdout)
        assert process.stdout is not None
        process.stdout.close()
        process.wait(SECONDS)
        assert process.stderr is not None
        assert process.stderr.read() == ""
