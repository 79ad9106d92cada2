"""The process sandbox against real processes: what ends, what is refused, what is told."""

import os
import socket
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import pytest
import trio

from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import CallLimits, Server, ServerFailed, ServerLimits
from harnesses.harness import CallEnd, Command
from stamina.errors import HostFault, SandboxFault
from tests.waiting import SECONDS, clock_from, until_true

Bash: TypeAlias = Callable[..., Awaitable[CallEnd]]
PYTHON = sys.executable
SERVER = f"""
exec {PYTHON} -I -S -c '
import http.server, sys
http.server.HTTPServer(("", int(sys.argv[1])), http.server.BaseHTTPRequestHandler).serve_forever()
' "$1"
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> ProcessSandbox:
    return ProcessSandbox(tmp_path / "box", Ports())


@pytest.fixture
def bash(sandbox: ProcessSandbox, tmp_path: Path) -> Bash:
    async def run(
        script: str, *, wall: float = SECONDS, grace: float = 0.2, output: int = 1 << 20, stdin: bytes = b"", held: Callable[[], float] | None = None
    ) -> CallEnd:
        command = Command(("bash", "-c", textwrap.dedent(script)), stdin=stdin)
        limits = CallLimits(wall, output, grace, held)
        return await sandbox.call(command, limits=limits, stdout=tmp_path / "stdout", stderr=tmp_path / "stderr")

    return run


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def end_of_line(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def pids(tmp_path: Path) -> list[int]:
    return [int(line) for line in (tmp_path / "stdout").read_text().split()]


class TestCalls:
    async def test_it_says_how_the_process_ended(self, bash: Bash, tmp_path: Path) -> None:
        """Exit codes and signals are told apart, and both streams are on the disk."""
        end = await bash("echo out; echo err >&2; exit 3")
        assert (end.exit_code, end.signal, end.expired, end.truncated) == (3, None, None, False)
        assert (end.stdout.read_text(), end.stderr.read_text()) == ("out\n", "err\n")
        end = await bash("kill -SEGV $$")
        assert (end.exit_code, end.signal) == (None, 11)

    async def test_a_command_that_is_not_there_is_an_end_not_a_fault(self, sandbox: ProcessSandbox, tmp_path: Path) -> None:
        """Exit code 127 with a line that names it, as in a shell."""
        end = await sandbox.call(Command(("no-such-cli",)), limits=CallLimits(SECONDS), stdout=tmp_path / "o", stderr=tmp_path / "e")
        assert end.exit_code == 127
        assert "no-such-cli: No such file" in end.stderr.read_text()

    async def test_stdin_is_given_and_closed(self, bash: Bash, tmp_path: Path) -> None:
        """A prompt of any size comes through; without one stdin is at its end."""
        await bash("wc -c", stdin=b"x" * 300_000)
        assert (tmp_path / "stdout").read_text().strip() == "300000"
        assert (await bash("cat")).exit_code == 0

    async def test_the_environment_is_small_and_inside(self, bash: Bash, sandbox: ProcessSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing of ours leaks in; HOME and TMPDIR are the sandbox's; the workspace is the directory."""
        monkeypatch.setenv("PLANTED_SECRET", "hunter2")
        await bash('env; echo "PWD=$(pwd)"')
        lines = dict(line.split("=", 1) for line in (tmp_path / "stdout").read_text().splitlines())
        assert set(lines) - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "TMPDIR", "STAMINA_SANDBOX"}
        assert (lines["HOME"], lines["PWD"]) == (str(sandbox.home), str(sandbox.workspace))

    async def test_signals_are_ordinary_inside(self, bash: Bash) -> None:
        """The keeper's own signal handling is not inherited: TERM ends a plain process."""
        assert (await bash("kill $$; sleep 60")).signal == 15

    async def test_files_are_written_to_the_home_without_following_links(self, sandbox: ProcessSandbox, tmp_path: Path) -> None:
        """A link where the CLI's configuration belongs is replaced, not followed."""
        outside = tmp_path / "outside"
        outside.mkdir()
        sandbox.home.mkdir(parents=True)
        (sandbox.home / ".config").symlink_to(outside)
        command = Command(("cat", f"{sandbox.home}/.config/a/cli.json"), files={PurePosixPath(".config/a/cli.json"): b"{}"})
        end = await sandbox.call(command, limits=CallLimits(SECONDS), stdout=tmp_path / "o", stderr=tmp_path / "e")
        assert end.stdout.read_bytes() == b"{}"
        assert list(outside.iterdir()) == []

    async def test_names_that_are_not_utf8_do_no_harm(self, bash: Bash, sandbox: ProcessSandbox) -> None:
        """An agent may name files as it likes."""
        assert (await bash(r"touch $'\xff\xfe'; mkdir $'d\xff'")).exit_code == 0
        assert (await sandbox.probe()).broken is None


class TestNothingSurvives:
    async def test_a_daemon_that_sets_its_own_session_and_a_clean_environment(self, bash: Bash, tmp_path: Path) -> None:
        """Double fork, setsid, env -i: still below the keeper."""
        await bash("""
            (setsid env -i sleep 300 & echo $!)
            setsid bash -c 'sleep 301 & echo $!; sleep 302 & echo $!; exit'
            sleep 303 & echo $!
        """)
        assert len(pids(tmp_path)) == 4
        assert all(gone(pid) for pid in pids(tmp_path))

    async def test_one_that_ignores_term(self, bash: Bash, tmp_path: Path) -> None:
        """After the grace it is killed."""
        await bash("(trap '' TERM; echo $BASHPID; touch deaf; while :; do sleep 0.05; done) & until [ -e deaf ]; do sleep 0.02; done")
        assert pids(tmp_path)
        assert all(gone(pid) for pid in pids(tmp_path))

    async def test_one_that_is_stopped(self, bash: Bash, tmp_path: Path) -> None:
        """A stopped process cannot answer TERM; KILL does not ask."""
        await bash("sleep 300 & echo $!; kill -STOP $!")
        assert pids(tmp_path)
        assert all(gone(pid) for pid in pids(tmp_path))

    async def test_the_wall_clock_ends_all_of_it(self, bash: Bash, tmp_path: Path) -> None:
        """An expired call says so, and its children are gone."""
        begun = clock_from(lambda: end_of_line(tmp_path / "stdout"))
        end = await bash("sleep 300 & echo $!; sleep 301", wall=0.3, held=begun)
        assert (end.expired, end.signal) == ("wall", 15)
        assert pids(tmp_path)
        assert all(gone(pid) for pid in pids(tmp_path))

    async def test_one_that_is_ended_before_it_began(self, bash: Bash, tmp_path: Path) -> None:
        """The keeper gets what to run and the order to end it in one breath, while it is still starting itself."""
        with trio.fail_after(SECONDS):
            end = await bash("echo begun; sleep 300", wall=0.0)
        assert (end.expired, end.exit_code) == ("wall", None)

    async def test_empty_arguments_arrive(self, sandbox: ProcessSandbox, tmp_path: Path) -> None:
        """Any number of them, also at the end."""
        command = Command((PYTHON, "-c", "import sys; print(sys.argv[1:])", "", "", "", "x", "", "", ""))
        await sandbox.call(command, limits=CallLimits(SECONDS), stdout=tmp_path / "stdout", stderr=tmp_path / "stderr")
        assert (tmp_path / "stdout").read_text() == "['', '', '', 'x', '', '', '']\n"

    async def test_cancelling_ends_all_of_it(self, bash: Bash, tmp_path: Path) -> None:
        """A cancelled call leaves nothing behind either."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bash, "sleep 300 & echo $!; sleep 301")
            await until_true(lambda: end_of_line(tmp_path / "stdout"))
            nursery.cancel_scope.cancel()
        assert len(pids(tmp_path)) == 1
        assert all(gone(pid) for pid in pids(tmp_path))

    async def test_one_that_kills_its_keeper(self, bash: Bash, sandbox: ProcessSandbox) -> None:
        """The marker in the environment finds what the keeper can no longer see; that is a fault of the sandbox."""
        with pytest.raises(SandboxFault, match="killed"):
            await bash("setsid sleep 300 & echo $! $$ > pids; kill -9 $PPID; sleep 301")
        left = [int(pid) for pid in (sandbox.workspace / "pids").read_text().split()]
        assert len(left) == 2
        assert all(gone(pid) for pid in left)

    async def test_a_small_storm_of_forks(self, bash: Bash) -> None:
        """Children that keep forking are outrun."""
        end = await bash("f() { sleep 0.02; [ $1 = 0 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; }; f 9 & f 9 & sleep 0.2")
        assert end.exit_code == 0


class TestOutput:
    async def test_a_flood_is_drained_and_bounded_on_disk(self, bash: Bash, tmp_path: Path) -> None:
        """1 GB in one line neither blocks the writer nor fills the disk."""
        end = await bash("head -c 1000000000 /dev/zero; echo done >&2", output=1 << 16)
        assert (end.exit_code, end.truncated) == (0, True)
        assert end.stdout.stat().st_size == 1 << 16
        assert end.stderr.read_text() == "done\n"

    async def test_closing_stdout_is_not_ending(self, bash: Bash) -> None:
        """A process that closes its streams and sleeps still runs into the wall."""
        assert (await bash("exec >&- 2>&-; sleep 300", wall=0.3)).expired == "wall"

    async def test_all_of_a_short_output_is_there(self, bash: Bash, tmp_path: Path) -> None:
        """Nothing is lost between the last write and the exit."""
        await bash("head -c 900000 /dev/zero")
        assert (tmp_path / "stdout").stat().st_size == 900_000


@asynccontextmanager
async def serving(sandbox: ProcessSandbox, script: str | None, start: float = SECONDS) -> AsyncIterator[Server | ServerFailed]:
    sandbox.workspace.mkdir(parents=True, exist_ok=True)
    if script is not None:
        (sandbox.workspace / "run_server.sh").write_text(script)
    async with sandbox.serve(limits=ServerLimits(start, 0.2), log=sandbox.root.parent / "server.log") as server:
        yield server


class TestServers:
    async def test_one_that_stays_in_the_foreground(self, sandbox: ProcessSandbox) -> None:
        """It is reached, its owner is known, and the port is free afterwards."""
        async with serving(sandbox, SERVER) as server:
            assert isinstance(server, Server)
            assert server.program.startswith("python")
            assert (await sandbox.probe()).processes == 1
        assert gone(server.pid)
        with socket.create_server(("", server.port)):
            pass

    async def test_one_that_returns_and_leaves_a_daemon(self, sandbox: ProcessSandbox) -> None:
        """``run_server.sh`` may return; what it left listens, and ends with the block."""
        script = f"""cat > serve.sh <<'END'
{SERVER}
END
setsid bash serve.sh "$1" >/dev/null 2>&1 &
exit 0"""
        async with serving(sandbox, script) as server:
            assert isinstance(server, Server)
        assert gone(server.pid)

    async def test_one_that_is_not_there(self, sandbox: ProcessSandbox) -> None:
        """Said in words."""
        async with serving(sandbox, None) as server:
            assert server == ServerFailed("there is no run_server.sh in the workspace", "")

    async def test_one_that_dies_at_once(self, sandbox: ProcessSandbox) -> None:
        """The exit code and the end of its log, long before the limit."""
        async with serving(sandbox, "echo flask is missing; exit 7", start=SECONDS) as server:
            assert server == ServerFailed("run_server.sh ended before the server answered (exit code 7)", "flask is missing\n")

    async def test_one_that_never_listens(self, sandbox: ProcessSandbox) -> None:
        """The limit, in words."""
        async with serving(sandbox, "sleep 60", start=0.3) as server:
            assert isinstance(server, ServerFailed)
            assert "did not answer HTTP within 0.3 s" in server.reason

    async def test_one_that_does_not_speak_http(self, sandbox: ProcessSandbox) -> None:
        """A port that accepts is not a server that answers."""
        script = f"""exec {PYTHON} -I -S -c 'import socket, sys
s = socket.create_server(("", int(sys.argv[1])))
while True: s.accept()[0].sendall(b"220 smtp ready")' $1"""
        async with serving(sandbox, script, start=0.5) as server:
            assert isinstance(server, ServerFailed)

    async def test_one_that_takes_its_time(self, sandbox: ProcessSandbox) -> None:
        """Late is fine within the limit."""
        async with serving(sandbox, "sleep 0.5\n" + SERVER) as server:
            assert isinstance(server, Server)

    async def test_ports_vary(self, sandbox: ProcessSandbox) -> None:
        """No two runs of a server get the same port in a row."""
        ports = []
        for _ in range(2):
            async with serving(sandbox, SERVER) as server:
                assert isinstance(server, Server)
                ports.append(server.port)
        assert len(set(ports)) == 2

    async def test_a_stranger_on_the_port_is_never_taken_for_the_server(self, sandbox: ProcessSandbox) -> None:
        """Another process of this host that takes the port in between is a fault of the host, not a pass and not a failure."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer_on, sandbox.workspace / "port")
            with pytest.raises(HostFault, match="not the agent's server"):
                async with serving(sandbox, "echo $1 > port; sleep 60"):
                    pass
            nursery.cancel_scope.cancel()

    async def test_a_held_port_is_not_handed_out(self) -> None:
        """A port that somebody listens on is passed over, on whatever address."""
        with socket.create_server(("127.0.0.1", 0)) as held:
            number = held.getsockname()[1]
            with pytest.raises(HostFault), Ports(number, number + 1, 0).one():
                pass


async def answer_on(file: Path) -> None:
    """Listen, in this process, on the port that the file names as soon as it does."""
    while not (port := written(file)):  # noqa: ASYNC110
        await trio.sleep(0.01)

    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")

    await trio.serve_tcp(answer, int(port), host="127.0.0.1")


def written(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


class TestProbe:
    async def test_a_removed_workspace_is_seen_and_made_again(self, bash: Bash, sandbox: ProcessSandbox) -> None:
        """The agent's doing, in words; the next call finds an empty one."""
        await bash("rm -rf ../workspace")
        assert (await sandbox.probe()).broken == "the workspace was removed"
        assert (await bash("pwd")).exit_code == 0
        assert (await sandbox.probe()).broken is None

    async def test_free_space_is_told(self, bash: Bash, sandbox: ProcessSandbox) -> None:
        """For admission and for blame."""
        await bash("true")
        health = await sandbox.probe()
        assert health.free_bytes > 0
        assert health.free_inodes > 0
        assert health.processes == 0


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Many calls leave as many open files as one."""
    sandbox = ProcessSandbox(tmp_path / "box", Ports())

    async def calls(count: int) -> int:
        for _ in range(count):
            await sandbox.call(Command(("true",)), limits=CallLimits(SECONDS), stdout=tmp_path / "o", stderr=tmp_path / "e")
        return len(os.listdir("/proc/self/fd"))

    async def compare() -> tuple[int, int]:
        return await calls(1), await calls(5)

    first, second = trio.run(compare)
    assert second <= first


async def test_time_that_the_gateway_held_is_given_back(tmp_path: Path) -> None:
    """A call's clock stands still while its model's gateway keeps it waiting; then it runs out as ever."""
    sandbox = ProcessSandbox(tmp_path / "held", Ports())
    out, errors = tmp_path / "held.out", tmp_path / "held.err"
    given = await sandbox.call(Command(("sleep", "0.6")), limits=CallLimits(0.1, held=lambda: 60.0), stdout=out, stderr=errors)
    ended = await sandbox.call(Command(("sleep", "60")), limits=CallLimits(0.1, held=lambda: 0.1), stdout=out, stderr=errors)
    assert (given.exit_code, given.expired) == (0, None)
    assert ended.expired == "wall"
    assert ended.seconds < 50


async def test_a_keeper_that_was_killed_before_it_began_is_the_sandboxs_fault(sandbox: ProcessSandbox, bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever moment the kernel chooses for it: a fault of the machinery, which is repeated, and never a bug."""

    async def broken(*_: object) -> None:
        raise trio.BrokenResourceError

    with monkeypatch.context() as patch:
        patch.setattr(trio.SocketStream, "send_all", broken)
        with pytest.raises(SandboxFault, match="before it could begin"):
            await bash("true")

    assert (await bash("true")).exit_code == 0


def carries(pid: int, marker: str) -> bool:
    return marker.encode() in Path(f"/proc/{pid}/environ").read_bytes()


async def test_what_an_earlier_process_of_ours_left_alive_is_ended(tmp_path: Path, bash: Bash) -> None:
    """Keeper and orchestrator were killed at once; the next sandbox around the same folder ends what carries its marker, and nothing else."""
    await bash("echo $STAMINA_SANDBOX")
    marker = (tmp_path / "stdout").read_text().strip()
    left = await trio.lowlevel.open_process(["sleep", "1000"], env={**os.environ, "STAMINA_SANDBOX": marker})
    other = await trio.lowlevel.open_process(["sleep", "1000"], env={**os.environ, "STAMINA_SANDBOX": marker[::-1] + "x"})
    try:
        await until_true(lambda: carries(left.pid, marker))  # for a moment after its start, a process has no environment yet
        await ProcessSandbox(tmp_path / "box", Ports()).fence()
        with trio.fail_after(SECONDS):
            assert await left.wait() == -9
        assert other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            await process.wait()
