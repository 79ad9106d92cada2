"""The way to a provider: TLS that is checked, and the proxies of the environment."""

from __future__ import annotations

import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
import trio
import trustme

from actors.gateway.gateway import Options, gateway
from actors.gateway.http_client import HttpClient, NotConnected, Origin, Outgoing
from actors.gateway.interfaces import Caller
from actors.gateway.providers import check_proxies
from actors.gateway.proxies import proxy_for
from stamina.config.model import ModelConfig, Provider
from stamina.errors import InputError
from tests.actors.gateway.stub import ENVIRONMENT, Stub, events, stream, whole

GOOD = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
ASKING = Outgoing("POST", "/v1/x?a=1", (("authorization", "Bearer key"),), b"{}")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@asynccontextmanager
async def secure(stub: Stub, authority: trustme.CA, name: str = "localhost") -> AsyncIterator[int]:
    """A provider behind TLS, with a certificate for a name; its port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)

    async def serve(connection: Any) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await stub.serve(connection)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_ssl_over_tcp, serve, 0, context, host="127.0.0.1"))
        yield listeners[0].transport_listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@attrs.define
class Middleman:
    """A proxy; what it was asked, head by head. It makes tunnels, and answers itself what is no tunnel."""

    refuse: bytes | None = None
    heads: list[bytes] = attrs.field(factory=list)
    target: int | None = None

    async def serve(self, connection: trio.SocketStream) -> None:
        head = b""
        async with connection:
            while b"\r\n\r\n" not in head:
                head += await connection.receive_some()
            self.heads.append(head)
            if self.refuse is not None:
                await connection.send_all(self.refuse)
            elif not head.startswith(b"CONNECT "):
                await connection.send_all(whole(GOOD)[0])
            else:
                far = await trio.open_tcp_stream("127.0.0.1", self.target or 0)
                await connection.send_all(b"HTTP/1.1 200 Connection established\r\nx: y\r\n\r\n")
                async with far, trio.open_nursery() as nursery:
                    nursery.start_soon(pumped, connection, far, nursery.cancel_scope)
                    nursery.start_soon(pumped, far, connection, nursery.cancel_scope)


async def pumped(one: trio.SocketStream, two: trio.SocketStream, scope: trio.CancelScope) -> None:
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in one:
            await two.send_all(data)
    scope.cancel()


@asynccontextmanager
async def proxy(middleman: Middleman) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, middleman.serve, 0, host="127.0.0.1"))
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def asked(origin: Origin, environment: Mapping[str, str], tls: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    with contextlib.closing(HttpClient(environment, tls)) as client:
        async with client.open(origin, ASKING) as answer:
            body = b""
            while piece := await answer.receive():
                body += piece
            return answer.status, body


async def test_a_provider_behind_tls_is_asked_again_and_again(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the gateway, whole and as a stream, with an authority of one's own."""
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    streamed = stream(events({"choices": [{"delta": {"content": "x" * 100_000}}]}, GOOD, b"[DONE]"))
    stub = Stub(lambda request, n: streamed if b'"stream":true' in request.body else whole(GOOD))
    async with secure(stub, authority) as port:
        model = ModelConfig("m", Provider.OPENAI, "real", 9000, f"https://localhost:{port}/v1", api_key_env="OPENAI_API_KEY")
        async with gateway(Options({"m": model}, environment=ENVIRONMENT)) as gate, httpx.AsyncClient(timeout=None) as client:
            with gate.seat(Caller("c", 1, 0), model) as seat:
                url, headers = f"{gate.bind()}/v1/chat/completions", {"x-api-key": seat.token}
                for flag in ("false", "true", "false"):
                    answer = await client.post(url, content=f'{{"model":"m","stream":{flag},"messages":[]}}', headers=headers)
                    assert answer.status_code == 200
    assert len(stub.asked) == 3


@pytest.mark.parametrize(
    ("name", "trusted", "said"), [("other.example", True, "Hostname mismatch"), ("localhost", False, "self.signed certificate|issuer certificate")]
)
async def test_a_certificate_that_is_not_the_providers_is_refused(authority: trustme.CA, name: str, trusted: bool, said: str) -> None:
    """Nothing is sent to whoever it is."""
    stub = Stub(lambda request, n: whole(GOOD))
    async with secure(stub, authority, name) as port:
        with pytest.raises(NotConnected, match=f"cannot connect to localhost:{port}: .*({said})"):
            await asked(Origin(True, "localhost", port), {}, trusting(authority) if trusted else None)
    assert stub.asked == []


async def test_tls_goes_through_a_proxys_tunnel(authority: trustme.CA) -> None:
    """The proxy sees where to, who asks, and nothing else."""
    stub, middleman = Stub(lambda request, n: whole(GOOD)), Middleman()
    async with secure(stub, authority, "models.example") as port, proxy(middleman) as near:
        middleman.target = port
        environment = {"HTTPS_PROXY": f"http://me:s%40fe@127.0.0.1:{near}", "NO_PROXY": "other.example"}
        status, _ = await asked(Origin(True, "models.example", 443), environment, trusting(authority))
    assert status == 200
    [head] = middleman.heads
    assert head.startswith(b"CONNECT models.example:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic " + base64.b64encode(b"me:s@fe") in head
    assert b"Bearer key" not in head
    assert stub.asked[0].target == "/v1/x?a=1"
    assert stub.asked[0].header("proxy-authorization") is None


async def test_plain_http_is_handed_to_a_proxy_with_its_whole_address() -> None:
    middleman = Middleman()
    async with proxy(middleman) as near:
        status, _ = await asked(Origin(False, "models.example", 8000), {"http_proxy": f"127.0.0.1:{near}"})
    assert status == 200
    assert middleman.heads[0].startswith(b"POST http://models.example:8000/v1/x?a=1 HTTP/1.1\r\nhost: models.example:8000\r\n")


@pytest.mark.parametrize("refusal", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"SSH-2.0\r\n\r\n", b""])
async def test_a_proxy_that_refuses_is_named(refusal: bytes) -> None:
    """With its variable."""
    async with proxy(Middleman(refuse=refusal)) as near:
        with pytest.raises(NotConnected, match=rf"models.example through the proxy 127.0.0.1:{near} \(HTTPS_PROXY\): the proxy") as caught:
            await asked(Origin(True, "models.example", 443), {"HTTPS_PROXY": f"http://127.0.0.1:{near}"}, ssl.create_default_context())
    assert ("refuses: 'HTTP/1.1 407 " in str(caught.value)) == refusal.startswith(b"HTTP")


def test_who_is_reached_through_which_proxy() -> None:
    """As other programs read the environment."""
    environment = {"HTTPS_PROXY": "http://a:1", "https_proxy": "b:2", "all_proxy": "http://c", "NO_PROXY": ".inside.example, exact.example, 10.0.0.5:8000"}

    def of(tls: bool, host: str, port: int = 443) -> str | None:
        found = proxy_for(tls, host, port, environment)
        return None if found is None else f"{found.host}:{found.port}"

    assert (of(True, "x.example"), of(False, "x.example")) == ("b:2", "c:80")
    assert [of(True, host) for host in ("a.inside.example", "exact.example", "localhost", "127.0.0.1", "::1")] == [None] * 5
    assert (of(False, "10.0.0.5", 8000), of(False, "10.0.0.5", 9000)) == (None, "c:80")
    assert proxy_for(True, "x.example", 443, {"HTTPS_PROXY": " "}) is None


@pytest.mark.parametrize("value", ["socks5://a:1", "https://a:1", "http://", "http://a:port"])
def test_a_proxy_of_another_kind_is_refused_before_anything_begins(value: str) -> None:
    """And where it is not used, it does no harm."""
    models = [ModelConfig("m", Provider.ANTHROPIC, "real", 9000)]
    with pytest.raises(InputError, match="ALL_PROXY: "):
        check_proxies(models, {"ALL_PROXY": value})
    check_proxies(models, {"ALL_PROXY": value, "NO_PROXY": "anthropic.com"})
    check_proxies([attrs.evolve(models[0], provider=Provider.OPENAI, base_url="http://localhost:8000/v1")], {"ALL_PROXY": value})
