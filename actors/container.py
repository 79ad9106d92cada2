"""What a container is made of, as a value: the request that the Engine API gets. No engine is needed to read this, or to test it."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs

from actors.beneath import Owner
from stamina.config.model import SandboxConfig
from stamina.errors import InputError

WORKSPACE: Final = PurePosixPath("/workspace")
HOME: Final = PurePosixPath("/home/agent")
SPOOL: Final = PurePosixPath("/.stamina/spool")
WARDEN: Final = PurePosixPath("/.stamina/warden")

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where an image names none."""

FALLBACK: Final[Owner] = (1000, 1000)
"""Who agents are when we are root: they never are, unless the sweep says so."""

SCRATCH: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (of the container)
"""Where everybody in a container may write, beside workspace and home."""

AGENTS_TO_COUNT: Final = (*SCRATCH, "/run/lock")
"""Where an agent that is not root can leave something, beside workspace and home."""

ROOTS_TO_COUNT: Final = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", str(SPOOL))
"""Where root can: all of the root file system, and what engines and we mount into it."""

_WARDEN_MAY: Final = ("DAC_OVERRIDE", "KILL", "SETGID", "SETPCAP", "SETUID")
"""Write the output of commands, end all, become the agent's user and drop the rest on the way."""

_FENCE_MAY: Final = "NET_ADMIN"
"""Close the way to neighbours, where the engine does not; given up when that is done."""

_ROOT_MAY: Final = ("CHOWN", "FOWNER", "FSETID", "NET_BIND_SERVICE")
"""What an agent that is root has besides, to install packages."""

_OURS: Final = (
    *("AutoRemove", "Binds", "CapAdd", "CapDrop", "Init", "LogConfig", "Mounts", "NetworkMode", "PidMode", "PortBindings", "Privileged", "PublishAllPorts"),
    *("ReadonlyRootfs", "RestartPolicy", "Runtime", "VolumesFrom"),
)
"""Keys of HostConfig that a sweep cannot give: the sandbox would not hold, or they have keys of their own."""

_JOINED: Final = ("ExtraHosts", "SecurityOpt", "Sysctls", "Tmpfs")
"""Keys to which a sweep only adds."""

_OPEN_FILES: Final = 65_536
_PROCESSES: Final = 16_384
"""Of one user on the whole host, for the kernel counts them so; ``pids`` is the container's limit."""

_IPV6: Final = "/proc/sys/net/ipv6/conf/all/disable_ipv6"
_TMP_SIZE: Final = 1 << 30


@attrs.frozen
class Account:
    """Who the agent is in its container."""

    uid: int
    gid: int

    @property
    def root(self) -> bool:
        """Whether it may do what root may in a container."""
        return self.uid == 0

    def passwd(self, image: bytes) -> bytes:
        """The image's ``/etc/passwd`` with an entry for this user, whose HOME is ours."""
        return f"agent:x:{self.uid}:{self.gid}::{HOME}:/bin/bash\n".encode() + _without(image, self.uid, b"agent")

    def group(self, image: bytes) -> bytes:
        """The image's ``/etc/group`` with an entry for this group."""
        return f"agent:x:{self.gid}:\n".encode() + _without(image, self.gid, b"agent")


def _without(table: bytes, number: int, name: bytes) -> bytes:
    """The lines of a passwd or group file that clash with neither."""
    lines = [line for line in table.splitlines(keepends=True) if line.count(b":") >= 2]
    return b"".join(line for line in lines if line.split(b":")[2].strip() != str(number).encode() and line.split(b":")[0] != name)


def account(user: str | None, *, rootless: bool) -> Account:
    """The agent's user. By default files in the workspace belong to who runs the sweep; with a rootless engine that is root inside. Raises InputError."""
    if user is None:
        ours = (os.getuid(), os.getgid())
        return Account(0, 0) if rootless else Account(*(ours if ours[0] else FALLBACK))
    if user == "root":
        return Account(0, 0)
    uid, colon, gid = user.partition(":")
    if not uid.isdecimal() or (colon and not gid.isdecimal()):
        raise InputError(f'[sandbox] user = "{user}": expected "root", or numbers such as "1000" or "1000:1000"')
    return Account(int(uid), int(gid or uid))


def check_account(user: Account, *, rootless: bool) -> None:
    """Raises InputError for a user that could not write into the folders that we make, as we cannot give them away."""
    ours = os.getuid()
    if ours and user.uid not in ((0,) if rootless else (0, ours)):
        raise InputError(
            f'[sandbox] user = "{user.uid}:{user.gid}": only root can give files to another user, and you are {ours}; leave user out, or say "root"'
        )


@attrs.frozen
class Outfit:
    """What one container gets.

    Attributes:
        image: its id.
        labels: see :mod:`actors.ownership`.
        network: its name.
        mounts: see :func:`mount`.
        ports: published ones, where the container's own address cannot be reached.
        cpus: of the engine's machine.
        blind: names of the outside are not looked up.
        podman: the engine is; it raises limits that are not named, and does not keep neighbours apart.
        hosts: names ► addresses for its ``/etc/hosts``.
    """

    image: str
    labels: Mapping[str, str]
    network: str
    mounts: tuple[Mapping[str, Any], ...]
    account: Account
    config: SandboxConfig
    cpus: int
    blind: bool
    podman: bool = False
    ports: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()

    def request(self) -> dict[str, Any]:
        """For ``POST /containers/create``. The host name is left to the engine, which takes the container's random id."""
        return {
            "Image": self.image,
            "Entrypoint": [str(WARDEN)],
            "Cmd": [],
            "User": "0:0",
            "WorkingDir": "/",
            "Labels": dict(self.labels),
            "OpenStdin": True,
            "StdinOnce": True,  # when we are gone, the warden hears of it, and ends
            "AttachStdin": True,
            "AttachStdout": True,
            "Tty": False,
            "Healthcheck": {"Test": ["NONE"]},
            "ExposedPorts": {f"{port}/tcp": {} for port in self.ports},
            "HostConfig": self.host_config(),
        }

    def host_config(self) -> dict[str, Any]:
        """Limits and isolation. Whatever the sweep gives in ``docker_args`` goes last, or is added."""
        found = {
            **self._limits(),
            **self._isolation(),
            "NetworkMode": self.network,
            "Mounts": [dict(each) for each in self.mounts],
            "PortBindings": {f"{port}/tcp": [{"HostIp": "127.0.0.1"}] for port in self.ports},
            "ExtraHosts": list(self.hosts),
            "LogConfig": {"Type": "none", "Config": {}},
            "RestartPolicy": {"Name": "no"},
            "Init": False,
        }
        given = {name: _joined(found.get(name), value) if name in _JOINED else value for name, value in self.config.docker_args.items()}
        return {**found, **given}

    def _limits(self) -> dict[str, Any]:
        """A ceiling for each thing, and as floor for memory half of it: what a busy host leaves at least. No swap: it would only hide the ceiling."""
        config = self.config
        return {
            "NanoCpus": int(min(config.cpus, self.cpus) * 1e9),
            "Memory": config.memory,
            "MemorySwap": config.memory,
            "MemoryReservation": config.memory // 2,
            "PidsLimit": config.pids,
            "Ulimits": ulimits(podman=self.podman),
        }

    def _isolation(self) -> dict[str, Any]:
        config = self.config
        found: dict[str, Any] = {
            "CapDrop": ["ALL"],
            "CapAdd": [*_WARDEN_MAY, *((_FENCE_MAY,) if self.podman else ()), *(_ROOT_MAY if self.account.root else ())],
            "SecurityOpt": ["no-new-privileges"],
            "ReadonlyRootfs": config.read_only_root,
            "Tmpfs": {str(SPOOL.parent): "rw,mode=0700,size=64k"},  # whoever is not root does not reach what is mounted in there, whosever it is
        }
        if config.read_only_root:
            found["Tmpfs"] |= {"/tmp": f"rw,exec,mode=1777,size={min(_TMP_SIZE, config.memory // 2)}"}  # noqa: S108 (of the container)
        if config.runtime is not None:
            found["Runtime"] = config.runtime
        if self.podman and os.path.exists(_IPV6):
            found["Sysctls"] = {"net.ipv6.conf.all.disable_ipv6": "1"}  # as Docker has it: by addresses of their own making they would reach each other
        if self.blind:
            # Names of the outside are looked up where nobody answers, so that looking up fails at once.
            found |= {"Dns": ["127.0.0.1"], "DnsOptions": ["attempts:1", "timeout:1"], "DnsSearch": ["."]}
        return found


def _joined(ours: Any, given: Any) -> Any:
    if isinstance(ours, dict) and isinstance(given, dict):
        return {**given, **ours}
    return [*ours, *given] if isinstance(ours, list) and isinstance(given, list) else given


def ulimits(*, podman: bool) -> list[dict[str, Any]]:
    """Podman raises limits to its own defaults unless they are named, which not every host permits."""
    limits = [("nofile", resource.RLIMIT_NOFILE, _OPEN_FILES)]
    if podman:
        limits.append(("nproc", resource.RLIMIT_NPROC, _PROCESSES))
    return [{"Name": name, "Soft": value, "Hard": value} for name, kind, wanted in limits for value in [_at_most(kind, wanted)]]


def _at_most(kind: int, wanted: int) -> int:
    _, most = resource.getrlimit(kind)
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


def mount(source: Path, target: PurePosixPath, *, read_only: bool = False) -> dict[str, Any]:
    """A file or folder of the host in the container."""
    return {"Type": "bind", "Source": str(source), "Target": str(target), "ReadOnly": read_only}


def user_mounts(config: SandboxConfig) -> list[dict[str, Any]]:
    """The sweep's own: ``/host/path:/inside:ro``. Raises InputError when the host has no such path."""
    found = []
    for text in config.mounts:
        source, target, *mode = text.split(":")
        if not os.path.exists(source):
            raise InputError(f'[sandbox] mounts: "{text}": there is no {source} here')
        found.append(mount(Path(source), PurePosixPath(target), read_only=mode == ["ro"]))
    return found


def check_docker_args(config: SandboxConfig) -> None:
    """Raises InputError for keys that the sandbox decides itself. Engines take them in any case."""
    ours = {name.lower(): name for name in _OURS}
    for given in config.docker_args:
        if (name := ours.get(given.lower())) is not None:
            raise InputError(f"[sandbox] docker_args: {name} is decided by the sandbox; leave it out")
        if given[:1].islower():
            raise InputError(f"[sandbox] docker_args: {given} is no key of the Engine API's HostConfig; they begin with a capital, such as ShmSize")
