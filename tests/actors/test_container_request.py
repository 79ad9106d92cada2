"""What is asked of an engine for a container: isolation, limits, and what a sweep may and may not give."""

import os
from pathlib import Path, PurePosixPath
from typing import Any

import attrs
import pytest

from actors.container import Account, Outfit, account, check_docker_args, mount, user_mounts
from actors.network import Network
from actors.ownership import OWNER, SWEEP, Owner, is_left, labels, me
from stamina.config.model import Egress, SandboxConfig
from stamina.errors import InputError

CONFIG = SandboxConfig(cpus=2.0, memory=1 << 30, pids=100)


def request(config: SandboxConfig = CONFIG, **changes: Any) -> dict[str, Any]:
    outfit = Outfit("sha256:1", labels("t"), "net", (mount(Path("/a"), PurePosixPath("/b")),), Account(1000, 1000), config, 4, blind=True)
    return attrs.evolve(outfit, **changes).request()


def test_a_container_may_nothing() -> None:
    """No capability but those that the warden needs, no new privileges, ceilings for all, and nothing kept of its output by the engine."""
    made = request()
    host = made["HostConfig"]

    assert host["CapDrop"] == ["ALL"]
    assert set(host["CapAdd"]) == {"DAC_OVERRIDE", "KILL", "SETGID", "SETPCAP", "SETUID"}
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["NanoCpus"], host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (2_000_000_000, 1 << 30, 1 << 30, 100)
    assert host["LogConfig"]["Type"] == "none"
    assert "Privileged" not in host
    assert "Env" not in made
    assert "Hostname" not in made
    assert (made["OpenStdin"], made["StdinOnce"]) == (True, True)


def test_limits_fit_the_engine() -> None:
    """No more processors than there are; limits that Podman would raise are named for it."""
    assert request(attrs.evolve(CONFIG, cpus=64.0))["HostConfig"]["NanoCpus"] == 4_000_000_000
    assert [each["Name"] for each in request()["HostConfig"]["Ulimits"]] == ["nofile"]
    assert [each["Name"] for each in request(podman=True)["HostConfig"]["Ulimits"]] == ["nofile", "nproc"]


def test_what_the_engine_does_not_do_the_warden_does() -> None:
    """With Podman it closes the way to neighbours, for which it needs a capability; with Docker it has none."""
    assert "NET_ADMIN" in request(podman=True)["HostConfig"]["CapAdd"]
    assert "NET_ADMIN" not in request()["HostConfig"]["CapAdd"]


def test_root_gets_what_installing_needs() -> None:
    """And a runtime and a read-only root who asks for them."""
    host = request(attrs.evolve(CONFIG, runtime="runsc", read_only_root=True), account=Account(0, 0))["HostConfig"]

    assert {"CHOWN", "FOWNER"} <= set(host["CapAdd"])
    assert "SYS_ADMIN" not in host["CapAdd"]
    assert (host["Runtime"], host["ReadonlyRootfs"], list(host["Tmpfs"])) == ("runsc", True, ["/.stamina", "/tmp"])


def test_ports_are_published_on_the_loopback_alone() -> None:
    """Where a container's address cannot be reached."""
    made = request(ports=(8000,))

    assert made["HostConfig"]["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1"}]}
    assert made["ExposedPorts"] == {"8000/tcp": {}}


def test_a_sweep_gives_keys_of_its_own() -> None:
    """They go last; those that hold the sandbox together are refused."""
    config = attrs.evolve(CONFIG, docker_args={"ShmSize": 1, "PidsLimit": 7})
    check_docker_args(config)
    host = request(config)["HostConfig"]

    assert (host["ShmSize"], host["PidsLimit"]) == (1, 7)
    for name in ("Mounts", "mounts", "Privileged", "CapAdd", "PidMode"):
        with pytest.raises(InputError, match="is decided by the sandbox"):
            check_docker_args(attrs.evolve(CONFIG, docker_args={name: []}))
    with pytest.raises(InputError, match="shm_size is no key of the Engine API's HostConfig"):
        check_docker_args(attrs.evolve(CONFIG, docker_args={"shm_size": 1}))


def test_a_sweep_adds_to_what_holds_the_sandbox() -> None:
    """Options of security, temporary file systems, entries of hosts: ours stay."""
    given = {"SecurityOpt": ["seccomp=unconfined"], "Tmpfs": {"/tmp": "size=1", "/scratch": ""}, "ExtraHosts": ["a:1.2.3.4"]}
    host = request(attrs.evolve(CONFIG, docker_args=given, read_only_root=True))["HostConfig"]

    assert host["SecurityOpt"] == ["no-new-privileges", "seccomp=unconfined"]
    assert (sorted(host["Tmpfs"]), "mode=1777" in host["Tmpfs"]["/tmp"]) == (["/.stamina", "/scratch", "/tmp"], True)
    assert host["ExtraHosts"] == ["a:1.2.3.4"]


def test_mounts_of_the_sweep(tmp_path: Path) -> None:
    """Read-only where it says so; a path that is not there is refused before anything is made."""
    config = attrs.evolve(CONFIG, mounts=(f"{tmp_path}:/data:ro", f"{tmp_path}:/more"))

    assert [(each["Target"], each["ReadOnly"]) for each in user_mounts(config)] == [("/data", True), ("/more", False)]
    with pytest.raises(InputError, match="there is no /nowhere here"):
        user_mounts(attrs.evolve(CONFIG, mounts=("/nowhere:/data",)))


@pytest.mark.parametrize(("user", "expected"), [("root", (0, 0)), ("1234", (1234, 1234)), ("12:34", (12, 34))])
def test_users(user: str, expected: tuple[int, int]) -> None:
    """By name of root, or by number."""
    assert attrs.astuple(account(user, rootless=False)) == expected


def test_the_user_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the sweep; never root by accident; with a rootless engine root inside is who runs the sweep."""
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert account(None, rootless=False) == Account(1000, 1000)
    monkeypatch.setattr(os, "getuid", lambda: 501)
    monkeypatch.setattr(os, "getgid", lambda: 20)
    assert account(None, rootless=False) == Account(501, 20)
    assert account(None, rootless=True) == Account(0, 0)
    with pytest.raises(InputError, match='user = "bob"'):
        account("bob", rootless=False)


def test_the_user_has_a_name() -> None:
    """Ours wins over an entry of the image with the same number or name; lines that are none are left out."""
    image = b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\nagent:x:7:7::/:/bin/sh\ngarbage\n"

    assert Account(1000, 1000).passwd(image) == b"agent:x:1000:1000::/home/agent:/bin/bash\nroot:x:0:0::/root:/bin/sh\n"
    assert Account(1000, 1000).group(b"root:x:0:\nnode:x:1000:\n") == b"agent:x:1000:\nroot:x:0:\n"


def test_the_living_are_left_alone() -> None:
    """Us; processes of other machines and other pid namespaces, of which nothing is known; what has no owner."""
    ours = me()

    assert not is_left(labels("x"), local=True)
    assert not is_left({OWNER: attrs.evolve(ours, space="1").text()}, local=True)
    assert not is_left({OWNER: attrs.evolve(ours, boot="b").text()}, local=False)
    assert not is_left({SWEEP: "x"}, local=True)
    assert not is_left({OWNER: "nonsense"}, local=True)


def test_the_dead_are_known() -> None:
    """A pid that is free, or another process's by now; and on this machine's engine all from before the boot."""
    ours = me()

    assert is_left({OWNER: attrs.evolve(ours, pid=4_000_000).text()}, local=False)
    assert is_left({OWNER: attrs.evolve(ours, began=ours.began + 1).text()}, local=False)
    assert is_left({OWNER: attrs.evolve(ours, boot="b").text()}, local=True)
    assert Owner.parse(ours.text()) == ours


def test_no_connection_that_lingers_holds_a_servers_port() -> None:
    """What an agent's client had, the kernel keeps for a minute; it is taken from 32768 on in a container of any machine."""
    net = Network("n", "10.0.0.1", "10.0.0.1", "10.0.0.1", direct=True, sweep="s", egress=Egress.NONE)
    drawn = {net.port() for _ in range(10_000)}
    assert min(drawn) >= 1024
    assert max(drawn) < 32_768
    assert len(drawn) > 1000
