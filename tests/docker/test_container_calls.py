"""Agent calls in a real container: what they see, how they end, and that nothing of them is left."""

import os
import stat
from pathlib import PurePosixPath

import attrs
import pytest
import trio

from actors.container import SCRATCH, WORKSPACE
from actors.sandbox import CallLimits, IdleLimits, ServerFailed, ServerLimits
from harnesses.harness import Command
from tests.docker.container_lab import MIB, SMALL, Lab
from tests.waiting import SECONDS, clock_from, until_true

pytestmark = pytest.mark.docker


async def test_a_call_gets_its_input_and_tells_its_output_and_exit_code(lab: Lab) -> None:
    """Both outputs apart, to files of the host, as they are."""
    async with lab.sandbox() as sandbox:
        done = await lab.bash(sandbox, "cat; echo oops >&2; exit 3", stdin=b"h\xc3\xa9llo\n")

    assert (done.out, done.err) == ("héllo\n", "oops\n")
    assert (done.end.exit_code, done.end.signal, done.end.expired, done.end.truncated) == (3, None, None, False)


async def test_signals_and_commands_that_cannot_be_started(lab: Lab) -> None:
    """As a shell tells them."""
    async with lab.sandbox() as sandbox:
        killed = await lab.bash(sandbox, "kill -9 $$")
        lost = await lab.bash(sandbox, "exec no-such-program")
        out, err = lab.root / "out", lab.root / "err"
        absent = await sandbox.call(Command(("no-such-program",)), limits=CallLimits(SECONDS), stdout=out, stderr=err)

    assert (killed.end.exit_code, killed.end.signal) == (None, 9)
    assert lost.end.exit_code == 127
    assert absent.exit_code == 127
    assert err.read_text() == "no-such-program: No such file or directory\n"


async def test_output_has_a_limit_and_blocks_nobody(lab: Lab) -> None:
    """A hundred megabytes in one line are drained; the first megabyte is kept."""
    async with lab.sandbox() as sandbox:
        done = await lab.bash(sandbox, "head -c 100000000 /dev/zero | tr '\\0' x; echo end >&2", limits=CallLimits(SECONDS, output_bytes=MIB))

    assert done.end.exit_code == 0
    assert done.end.truncated
    assert (len(done.out), done.err) == (MIB, "end\n")


async def test_a_call_is_ended_when_its_time_is_over(lab: Lab) -> None:
    """Also one that ignores TERM; what was written before is kept."""
    async with lab.sandbox() as sandbox:
        limits = CallLimits(1.0, grace=0.3, held=clock_from((sandbox.workspace / "begun").exists))
        done = await lab.bash(sandbox, "trap '' TERM; echo begun; touch begun; while true; do sleep 1; done", limits=limits)
        health = await sandbox.probe()

    assert (done.end.expired, done.end.signal, done.out) == ("wall", 9, "begun\n")
    assert health.processes == 0


async def test_a_call_that_does_nothing_is_ended(lab: Lab) -> None:
    """Though it goes on printing; the engine counts the processor time of all that runs in the container, here none, not even for a new process."""
    async with lab.sandbox() as sandbox:
        begun = sandbox.workspace / "begun"
        idle = CallLimits(SECONDS, grace=0.3, idle=IdleLimits(4.0, SECONDS, quiet=lambda: 1e9 if begun.exists() else 0.0))
        done = await lab.bash(
            sandbox, "(setsid sleep 1000 &); mkfifo ~/never; exec 3<>~/never; touch begun; while true; do echo waiting; read -t 1 -u 3; done", limits=idle
        )
        health = await sandbox.probe()

    assert (done.end.expired, health.processes) == ("model_idle", 0)
    assert done.out.startswith("waiting\nwaiting\n")


BURN = "import time\nwhile True:\n    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n    time.sleep(0.05)"
"""Up to half a processor for ever, where there is one."""


@pytest.mark.parametrize(
    ("script", "wall", "clock"),
    [('exec python3 -I -S -c "$0"', 300, "model_idle"), ('python3 -I -S -c "$0" & wait', 25, "wall")],
    ids=["itself", "below"],
)
async def test_what_a_cli_itself_uses_while_it_waits_is_no_work(lab: Lab, script: str, wall: float, clock: str) -> None:
    """What it has started is at work with as much."""
    limits = CallLimits(wall, grace=0.3, idle=IdleLimits(10.0, 600, quiet=lambda: 1e9))
    out, err = lab.root / "out", lab.root / "err"
    async with lab.sandbox() as sandbox:
        end = await sandbox.call(Command(("bash", "-c", script, BURN), idle_load=1.0), limits=limits, stdout=out, stderr=err)

    assert end.expired == clock


async def test_work_is_counted(lab: Lab) -> None:
    """Of what has ended too."""
    async with lab.sandbox() as sandbox:
        before = await sandbox.body.engine.processor_seconds(sandbox.body.name)
        await lab.bash(sandbox, "python3 -c 'import time\nwhile time.process_time() < 1: pass'")
        after = await sandbox.body.engine.processor_seconds(sandbox.body.name)

    assert before is not None
    assert after is not None
    assert after - before >= 0.9


async def test_term_comes_first(lab: Lab) -> None:
    """A CLI may save its session."""
    async with lab.sandbox() as sandbox:
        limits = CallLimits(1.0, grace=SECONDS, held=clock_from((sandbox.workspace / "begun").exists))
        done = await lab.bash(sandbox, "trap 'echo saved; exit 0' TERM; touch begun; sleep 1000 & wait", limits=limits)

    assert (done.end.expired, done.end.exit_code, done.out) == ("wall", 0, "saved\n")


async def test_held_time_does_not_count(lab: Lab) -> None:
    """The gateway kept the agent waiting."""
    async with lab.sandbox() as sandbox:
        done = await lab.bash(sandbox, "sleep 1.5; echo done", limits=CallLimits(0.5, held=lambda: SECONDS))

    assert (done.end.expired, done.out) == (None, "done\n")


DAEMONS = {
    "a session of its own": "setsid sleep 1000 & disown",
    "twice forked, all closed": "(setsid bash -c 'exec <&- >&- 2>&-; sleep 1000 & exec sleep 1000' &) ",
    "deaf to TERM": "setsid bash -c \"trap '' TERM HUP INT; while true; do sleep 1; done\" & ",
    "stopped": "sleep 1000 & kill -STOP $!",
}


@pytest.mark.parametrize("kind", DAEMONS)
async def test_nothing_outlives_a_call(lab: Lab, kind: str) -> None:
    """Whatever it does to get away."""
    async with lab.sandbox() as sandbox:
        done = await lab.bash(sandbox, f"{DAEMONS[kind]}\nsleep 0.2; echo left")
        health = await sandbox.probe()

    assert done.out == "left\n"
    assert health.processes == 0


async def test_what_an_agent_sees(lab: Lab) -> None:
    """A user with a name, a HOME and a workspace; nothing of this machine's environment; nothing that names the scenario (L4)."""
    os.environ["STAMINA_TEST_SECRET"] = "hunter2"
    try:
        async with lab.sandbox(env={"GIVEN": "yes"}) as sandbox:
            done = await lab.bash(sandbox, "whoami; id -u; echo $HOME; pwd; echo ~; env; hostname; cat /proc/1/environ 2>&1", env={"MORE": "too"})
    finally:
        del os.environ["STAMINA_TEST_SECRET"]

    user = os.getuid() or 1000
    assert done.out.splitlines()[:5] == ["agent", str(user), "/home/agent", "/workspace", "/home/agent"]
    assert {"GIVEN=yes", "MORE=too"} <= set(done.out.splitlines())
    assert "hunter2" not in done.out


async def test_files_belong_to_the_agent(lab: Lab) -> None:
    """Those of the command too, and folders that had to be made for them."""
    async with lab.sandbox() as sandbox:
        files = {PurePosixPath(".config/tool/settings.json"): b"{}"}
        done = await lab.bash(sandbox, "cd ~/.config/tool && echo x >settings.json && echo y >other && umask", files=files)
        written = sandbox.home / ".config/tool/other"

        assert (done.end.exit_code, done.out) == (0, "0022\n")
        assert written.stat().st_uid == (os.getuid() or 1000)
        assert stat.S_IMODE(written.stat().st_mode) == 0o644


async def test_nobody_inside_can_touch_the_warden(lab: Lab) -> None:
    """Not by signals, not by looking, not by /proc; root in the container neither."""
    script = "kill -9 1; kill -STOP 1; readlink /proc/1/fd/0; cat /proc/1/mem; ls -A /.stamina/spool; echo $?"
    async with lab.sandbox() as sandbox, lab.sandbox(attrs.evolve(SMALL, user="root")) as rooted:
        done = await lab.bash(sandbox, script)
        as_root = await lab.bash(rooted, "kill -9 1; kill -STOP 1; kill -TERM 1; readlink /proc/1/fd/0; head -c 1 /proc/1/mem; echo; id -u")
        again = await lab.bash(sandbox, "echo alive")
        root_again = await lab.bash(rooted, "echo alive")

    assert done.out == "2\n"
    assert as_root.out == "\n0\n"
    assert (again.out, root_again.out) == ("alive\n", "alive\n")


HOSTILE = {
    "kill everything": "kill -9 -1; sleep 1; echo still here",
    "kill by name": "pkill -9 -f .; sleep 1",
    "a fork bomb": "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 2",
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_the_container_survives(lab: Lab, kind: str) -> None:
    """And the next call finds it as it was."""
    async with lab.sandbox() as sandbox:
        await lab.bash(sandbox, HOSTILE[kind])
        again = await lab.bash(sandbox, "echo fine")
        health = await sandbox.probe()

    assert again.out == "fine\n"
    assert (health.broken, health.processes) == (None, 0)


async def test_memory_has_a_ceiling(lab: Lab) -> None:
    """What takes too much is killed by the kernel, and that is told."""
    async with lab.sandbox() as sandbox:
        done = await lab.bash(sandbox, "exec python3 -c 'x = bytearray(10**9)'")
        again = await lab.bash(sandbox, "echo fine")

    assert (done.end.signal, done.end.oom_kills > 0) == (9, True)
    assert (again.out, again.end.oom_kills) == ("fine\n", 0)


async def test_disk_has_a_ceiling(lab: Lab) -> None:
    """A call that writes more than it may is ended, and says so."""
    async with lab.sandbox(attrs.evolve(SMALL, disk=100 * MIB)) as sandbox:
        done = await lab.bash(sandbox, "head -c 400000000 /dev/zero >big; sync; sleep 1000; true", limits=CallLimits(SECONDS, grace=0.2))

    assert done.end.expired == "disk"


async def test_a_read_only_root_leaves_what_agents_need(lab: Lab) -> None:
    """Workspace, home and /tmp can be written; what else belongs to the image cannot, by root neither."""
    config = attrs.evolve(SMALL, read_only_root=True)
    async with lab.sandbox(config) as sandbox, lab.sandbox(attrs.evolve(config, user="root")) as rooted:
        done = await lab.bash(sandbox, f"touch {WORKSPACE}/a ~/b {SCRATCH[0]}/c && echo yes; whoami")
        as_root = await lab.bash(rooted, f"touch {WORKSPACE}/a ~/b {SCRATCH[0]}/c && echo yes; touch /usr/d || touch /var/d || touch /etc/d || echo no")
        health = await sandbox.probe()

    assert (done.out, as_root.out) == ("yes\nagent\n", "yes\nno\n")
    assert health.broken is None


async def test_root_is_for_those_who_ask(lab: Lab) -> None:
    """It may install things, and nothing that reaches beyond the container."""
    async with lab.sandbox(attrs.evolve(SMALL, user="root")) as sandbox:
        done = await lab.bash(
            sandbox, "id -u; echo x >/usr/local/x && cat /usr/local/x; chown 5:5 /usr/local/x && echo owned; mount -t tmpfs x /mnt || mknod /n b 8 0 || echo no"
        )

    assert done.out == "0\nx\nowned\nno\n"


async def test_a_user_that_no_image_knows_has_a_name_and_a_home(lab: Lab) -> None:
    """As programs ask for it: through the passwd file, not through HOME."""
    async with lab.sandbox(attrs.evolve(SMALL, user="4321:4322")) as sandbox:
        done = await lab.bash(sandbox, "whoami; id -u; id -gn; echo x >~/x && env -u HOME python3 -c 'import os.path; print(os.path.expanduser(\"~\"))'")

        assert done.out.splitlines() == ["agent", "4321", "agent", "/home/agent"]
        assert (sandbox.home / "x").stat().st_uid == 4321


async def test_what_was_said_cannot_be_unsaid(lab: Lab) -> None:
    """Root reaches the folder that output is written to; a link made there in one call is gone in the next."""
    async with lab.sandbox(attrs.evolve(SMALL, user="root")) as sandbox:
        first = await lab.bash(sandbox, "echo said; cd /.stamina/spool && for file in *; do ln $file kept-$file; done; chmod 000 .")
        said = sorted(lab.root.glob("*.out"))[0]
        second = await lab.bash(sandbox, "cd /.stamina/spool && ls kept-* 2>&1; for file in kept-*; do : >$file; done; ls -d kept-*")

        assert first.out == "said\n"
        assert "No such file" in second.out
        assert said.read_text() == "said\n"


SCRIPTS = {
    "mkfifo run_server.sh": "run_server.sh is no script: it is a pipe",
    "mkdir run_server.sh": "run_server.sh is no script: it is a folder",
    "ln -s /dev/zero run_server.sh": "run_server.sh ended before the server answered (exit code 126)",
    "ln -s run_server.sh run_server.sh": "run_server.sh ended before the server answered (exit code 126)",
}


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_script_that_is_none(lab: Lab, script: str) -> None:
    """Is told as what it is, at once."""
    async with lab.sandbox() as sandbox:
        await lab.bash(sandbox, script)
        async with sandbox.serve(limits=ServerLimits(SECONDS), log=lab.root / "log") as server:
            assert isinstance(server, ServerFailed)
            assert server.reason == SCRIPTS[script]


async def test_what_root_broke_is_told(lab: Lab) -> None:
    """A sandbox without a shell is broken, by the agent; the warden needs none to tell."""
    async with lab.sandbox(attrs.evolve(SMALL, user="root")) as sandbox:
        done = await lab.bash(sandbox, "rm -rf /bin /usr/bin /dev/null 2>/dev/null; echo done")
        health = await sandbox.probe()

    assert done.out == "done\n"
    assert health.broken == "bash was removed"


async def test_a_call_that_is_cancelled_leaves_nothing(lab: Lab) -> None:
    """As when the money is spent: the sandbox goes on."""
    async with lab.sandbox() as sandbox:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lab.bash, sandbox, "setsid sleep 1000 & touch begun; sleep 1000")
            await until_true((sandbox.workspace / "begun").exists)
            nursery.cancel_scope.cancel()
        health = await sandbox.probe()
        again = await lab.bash(sandbox, "echo fine")

    assert (health.processes, again.out) == (0, "fine\n")
