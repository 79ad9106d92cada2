"""Proxies of the environment, as other programs read it: which one a provider is reached through, and how it is asked.

``HTTPS_PROXY`` and ``HTTP_PROXY`` by the provider's scheme, else ``ALL_PROXY``; small letters go first. ``NO_PROXY`` lists hosts and domains that are reached
directly; this machine always is.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import attrs

from stamina.errors import InputError

HEAD_BYTES: Final = 64 * 1024


@attrs.frozen
class Proxy:
    """A proxy that speaks HTTP.

    Attributes:
        variable: who names it.
        authorization: the value of its header, None without a user.
    """

    variable: str
    host: str
    port: int
    authorization: str | None = attrs.field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """For people."""
        return f"the proxy {self.host}:{self.port} ({self.variable})"

    def connect(self, authority: str) -> bytes:
        """What asks it for a tunnel."""
        lines = [f"CONNECT {authority} HTTP/1.1", f"host: {authority}"]
        if self.authorization is not None:
            lines.append(f"proxy-authorization: {self.authorization}")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"


def proxy_for(tls: bool, host: str, port: int, environment: Mapping[str, str]) -> Proxy | None:  # noqa: FBT001 (an origin's first member)
    """The proxy through which a host is reached, None when directly. Raises InputError for one that cannot be used."""
    found = _named("https" if tls else "http", environment)
    if found is None or _is_local(host):
        return None
    left_out = environment.get("no_proxy", environment.get("NO_PROXY", ""))
    if left_out and proxy_bypass_environment(f"{host}:{port}", {"no": left_out}):
        return None
    return _parsed(*found)


def proxy_secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """Passwords of proxies."""
    for scheme in ("https", "http"):
        found = _named(scheme, environment)
        if found is not None:
            password = urlsplit(_with_scheme(found[1])).password
            yield from (password, unquote(password)) if password else ()


def _named(scheme: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The variable that counts, and its value."""
    names = [form for name in (f"{scheme}_proxy", "all_proxy") for form in (name, name.upper())]
    return next(((name, environment[name].strip()) for name in names if environment.get(name, "").strip()), None)


def _parsed(variable: str, value: str) -> Proxy:
    try:
        parts = urlsplit(_with_scheme(value))
        port = parts.port or 80
    except ValueError as error:
        raise InputError(f"{variable}: this is no address of a proxy ({error})") from error
    if parts.scheme != "http" or not parts.hostname:
        raise InputError(f"{variable}: expected http://HOST:PORT, got {parts.scheme}://…; set it so, or name the provider's host in NO_PROXY")
    authorization = None
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(user.encode()).decode()
    return Proxy(variable, parts.hostname, port, authorization)


def _with_scheme(value: str) -> str:
    return value if "://" in value else f"http://{value}"


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
