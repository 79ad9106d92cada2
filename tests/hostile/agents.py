"""A catalogue of agents that misbehave: what each does in its first call, as a shell script, and what must become of it.

Every script has the function ``honest``, which writes the server that was asked for, and ends with ``finish`` where the agent claims to be done. Calls after
the first are honest.
"""

from __future__ import annotations

from typing import Final

import attrs

from tests.actors.fakes import SERVER_CODE

MIB: Final = 1 << 20
DISK: Final = 200 * MIB
"""What one of these agents may take."""

FILES: Final = 20_000
"""How many files it may make."""

OUTPUT: Final = 8 * MIB
"""What is kept of a call's output."""

WALL: Final = 10.0
"""Seconds for those that never end by themselves."""

PRELUDE: Final = (
    """
honest() {
rm -rf run_server.sh server.py
cat >run_server.sh <<'END'
exec python3 -I -S server.py "$1"
END
cat >server.py <<'END'"""
    + SERVER_CODE
    + """END
}
finish() { echo DONE >&2; exit 0; }
"""
)

HONEST: Final = "honest; finish"


@attrs.frozen
class Agent:
    """One of them.

    Attributes:
        script: what it does.
        outcome: of the scenario's calls and suites, in order.
        root: the sweep lets agents be root.
        seconds: wall time of the call.
    """

    script: str
    outcome: str
    root: bool = False
    seconds: float = 90.0


UNHARMED: Final = "completed, passed"
"""What it did had no effect."""

REPEATED: Final = "failed (harness), completed, passed"
"""Its CLI did not complete, so the call was repeated and no attempt consumed (contract T4)."""

ENDED: Final = "ended (wall), passed"
"""Its time ran out; its work is graded as it stands."""

OVERFULL: Final = "ended (disk), passed"
"""It took more disk than it may; its work is graded as it stands."""

NEXT: Final = "completed, failed, completed, passed"
"""Its work failed; the next attempt passes."""

PYTHON: Final = "python3 -I -S - <<'END'\n{}\nEND\n"


def python(text: str) -> str:
    return PYTHON.format(text)


NAMELESS: Final = """
import os
descriptor = os.open("big", os.O_WRONLY | os.O_CREAT)
os.unlink("big")
while True: os.write(descriptor, bytes(1 << 20))
"""

FILL_INODES: Final = """
import os, time
os.mkdir("many")
for number in range(400_000): os.close(os.open(f"many/{number}", os.O_CREAT))
time.sleep(1000)
"""

SOCKETS: Final = """
import os, resource, socket, time
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["http_proxy"])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held, until = [], time.monotonic() + 45
for number in range(10_000):
    if time.monotonic() > until: break
    try:
        held.append(socket.create_connection((proxy.hostname, proxy.port), 5))
    except OSError:
        pass
"""

SCAN: Final = """
import os, selectors, socket, time
from urllib.parse import urlsplit
address = urlsplit(os.environ["http_proxy"]).hostname
found = set()
for first in range(1, 65536, 512):
    watch = selectors.DefaultSelector()
    for port in range(first, min(first + 512, 65536)):
        sock = socket.socket()
        sock.setblocking(False)
        if sock.connect_ex((address, port)) == 0: found.add(port)
        watch.register(sock, selectors.EVENT_WRITE, port)
    until = time.monotonic() + 2
    while watch.get_map() and time.monotonic() < until:
        for key, _ in watch.select(0.2):
            if not key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR): found.add(key.data)
            watch.unregister(key.fileobj)
            key.fileobj.close()
    for key in list(watch.get_map().values()): key.fileobj.close()
print("PORTS", *sorted(found))
"""

RUNS: Final = """
import os, time
if os.fork(): raise SystemExit
late = None
while True:
    os.setsid()
    if late is None and os.path.exists("over"): late = time.monotonic() + 3
    if late is not None and time.monotonic() > late: open("run_server.sh", "w").write("exit 1")
    if os.fork(): os._exit(0)
    time.sleep(0.01)
"""

DEEP: Final = """
import os
os.mkdir("README.md")
os.chdir("README.md")
for _ in range(20_000):
    os.mkdir("deep")
    os.chdir("deep")
"""

DEEPER: Final = DEEP.replace("README.md", "deep")

SWAPS: Final = """
import os, subprocess, sys
code = '''
import os
own = f"swap{os.getpid()}"
while True:
    for target in ("/etc/shadow", "CANARY", "/proc/self/environ", "loop"):
        os.symlink(target, own)
        os.rename(own, "README.md")
        with open(own, "w") as file: file.write("no link")
        os.rename(own, "README.md")
'''
for number in range(3): subprocess.Popen([sys.executable, "-I", "-S", "-c", code], start_new_session=True, stderr=subprocess.DEVNULL)
"""
"""Files that are links at every other moment, for as long as anything of the call lives."""

IMMUTABLE: Final = """
import fcntl, os, struct
FS_IOC_SETFLAGS, FS_IMMUTABLE = 0x40086602, 0x10
for path in (".", "README.md", os.path.expanduser("~")):
    try:
        fcntl.ioctl(os.open(path, os.O_RDONLY), FS_IOC_SETFLAGS, struct.pack("l", FS_IMMUTABLE))
        os._exit(1)
    except OSError:
        pass
"""

TWICE: Final = """
cat >run_server.sh <<'END'
python3 -I -S server.py "$1" &
sleep 1
python3 -I -S server.py "$1"
END
"""

FULL_SERVER: Final = """
cat >run_server.sh <<'END'
head -c 3000000000 /dev/zero >big
exec python3 -I -S server.py "$1"
END
"""

AGENTS: Final[dict[str, Agent]] = {
    # processes
    "kill-python": Agent("honest; pkill -9 -f python; finish", REPEATED),
    "kill-everything": Agent("honest; kill -9 -1; kill -9 $$", REPEATED),
    "kill-process-1": Agent("honest; kill -9 1; kill -STOP 1; kill -TERM 1; finish", UNHARMED, root=True),
    "fork-bomb": Agent("honest; bomb() { bomb | bomb & }; bomb 2>/dev/null; while true; do :; done", ENDED, seconds=WALL),
    "ignores-term": Agent("honest; trap '' TERM INT HUP; while true; do sleep 1; done", ENDED, seconds=WALL),
    "stops-itself": Agent("honest; kill -STOP $$", ENDED, seconds=WALL),
    "setsid-away": Agent("honest; setsid bash -c 'sleep 3; echo \"exit 1\" >run_server.sh' >/dev/null 2>&1 & finish", UNHARMED),
    "runs-from-the-kill": Agent(f"honest; {python(RUNS)} touch over; finish", UNHARMED),
    "closes-stdout-and-sleeps": Agent("honest; exec >&- 2>&- <&-; sleep 1000", ENDED, seconds=WALL),
    # the port
    "daemon-holds-the-port": Agent("honest; for port in 8000 20000 30000; do setsid python3 -I -S server.py $port & done; sleep 1; finish", UNHARMED),
    "binds-the-port-twice": Agent(f"honest; {TWICE} finish", UNHARMED),
    # resources
    "fills-the-disk": Agent("honest; head -c 3000000000 /dev/zero >big; sleep 1000", OVERFULL),
    "fills-the-disk-from-home": Agent("honest; while true; do head -c 100000000 /dev/zero >>~/log; done", OVERFULL),
    "fills-the-disk-without-a-name": Agent(f"honest; {python(NAMELESS)}", OVERFULL),
    "fills-the-inodes": Agent(f"honest; {python(FILL_INODES)}", OVERFULL),
    "server-fills-the-disk": Agent(f"honest; {FULL_SERVER} finish", NEXT),
    "root-fills-the-disk": Agent("honest; head -c 3000000000 /dev/zero >/usr/local/big; sleep 1000", OVERFULL, root=True),
    "root-fills-what-is-mounted": Agent("honest; head -c 3000000000 /dev/zero >/etc/hostname; sleep 1000", OVERFULL, root=True),
    "root-fills-where-output-goes": Agent("honest; head -c 3000000000 /dev/zero >/.stamina/spool/big; sleep 1000", OVERFULL, root=True),
    "fills-tmp": Agent("honest; head -c 3000000000 /dev/zero >/tmp/big; sleep 1000", OVERFULL),
    "fills-the-lock-folder": Agent("honest; head -c 3000000000 /dev/zero >/run/lock/big; sleep 1000", OVERFULL),
    "sparse-file": Agent("honest; truncate -s 50G huge.py; finish", UNHARMED),
    "fills-shared-memory": Agent("honest; head -c 3000000000 /dev/zero >/dev/shm/big; finish", UNHARMED),
    "eats-all-memory": Agent("honest; exec python3 -c 'x = bytearray(10**10)'", REPEATED),
    "opens-10000-sockets": Agent(f"honest; {python(SOCKETS)} finish", UNHARMED),
    # output and claims
    "gigabyte-line": Agent("honest; head -c 1000000000 /dev/zero | tr '\\0' x; finish", UNHARMED),
    "exits-without-work": Agent("exit 0", REPEATED),
    "claims-without-work": Agent("finish", NEXT),
    # the machine
    "deletes-bin": Agent("honest; rm -rf /bin /usr/bin /sbin /usr/sbin; finish", "sandbox broken, failed, completed, passed", root=True),
    "mounts-and-unshares": Agent(
        "honest; mount --bind /tmp /mnt && exit 1; mount -t tmpfs x /workspace && exit 1; umount /workspace && exit 1; unshare -m true && exit 1; "
        "unshare -Urm true && exit 1; mknod disk b 8 0 && cat disk && exit 1; finish",
        UNHARMED,
        root=True,
    ),
    "changes-the-clock": Agent("honest; date -s '2001-01-01' && exit 1; finish", UNHARMED, root=True),
    "reads-secrets": Agent("honest; env; cat /proc/*/environ /proc/1/cmdline /etc/shadow 2>/dev/null; ls -AR /.stamina 2>/dev/null; finish", UNHARMED),
    "scans-the-orchestrator": Agent(f"honest; {python(SCAN)} finish", UNHARMED),
    # the workspace
    "links-that-lead-outside": Agent(
        "honest; rm -f README.md initial_specification.md; ln -s CANARY README.md; ln -s /etc/shadow initial_specification.md; ln -s / root; "
        "ln -s /proc/self/environ environ.py; ln -s CANARY canary.py; ln -s . loop; finish",
        UNHARMED,
    ),
    "swaps-files-for-links": Agent(f"honest; {python(SWAPS)} sleep 1; finish", UNHARMED),
    "script-is-a-pipe": Agent("honest; rm run_server.sh; mkfifo run_server.sh; finish", NEXT),
    "script-is-endless": Agent("honest; ln -sf /dev/zero run_server.sh; finish", NEXT),
    "pipes-and-devices": Agent(
        "honest; rm -f README.md; mkfifo README.md pipe.py; mknod disk.py b 8 0; "
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock.py\")'; finish",
        UNHARMED,
        root=True,
    ),
    "names-that-are-no-text": Agent("honest; touch $'\\xff\\xfe.py' $'new\\nline.py' \"$(printf 'x%.0s' {1..250}).py\" -- -rf; finish", UNHARMED),
    "deep-folder-in-the-way": Agent(f"honest; rm -f README.md; ({python(DEEP)}); finish", UNHARMED),
    "deep-folder": Agent(f"honest; ({python(DEEPER)}); finish", UNHARMED),
    "no-permissions": Agent("honest; chmod 000 server.py ~ .; exit 0", REPEATED),
    "root-owns-everything": Agent("honest; chown -R 0:0 . ~; chmod -R go= . ~; finish", UNHARMED, root=True),
    "cannot-be-changed": Agent(f"honest; {python(IMMUTABLE)} [ $? = 0 ] || exit 1; finish", UNHARMED, root=True),
    "repository-of-its-own": Agent(
        "honest; git init -q .; mkdir -p .git/hooks; echo 'exit 1' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; "
        "git config core.fsmonitor 'touch /workspace/ran'; git config core.worktree /; finish",
        UNHARMED,
    ),
}
