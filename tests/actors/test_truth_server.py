"""The ground truth over a real socket."""

import socket
from typing import Any

import httpx
import pytest
import trio

from actors.truth import serving
from stamina.errors import HostFault
from stamina.rest.asgi import Application
from stamina.rest.schema import Entity, Field, IntegerType, State
from stamina.rest.truth import Truth
from tests.waiting import SECONDS


def app() -> Application:
    return Application(Truth(State((Entity("Dog", (Field("age", IntegerType(minimum=0)),)),))).handle)


def accepts(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


async def test_serves_for_the_length_of_the_block(capfd: pytest.CaptureFixture[str]) -> None:
    """Any free port; requests on one connection; afterwards nothing listens, and nothing was printed."""
    async with serving(app()) as bound, httpx.AsyncClient(base_url=bound.url, timeout=None) as api:
        assert (await api.post("/dog", json={"id": "d1", "age": 3})).status_code == 201
        assert (await api.get("/dog/d1")).json() == {"id": "d1", "age": 3}
        assert (await api.head("/dog/d1")).status_code == 405
        assert (await api.delete("/dog/d1")).status_code == 204
        assert (await api.post("/dog", content=b"{")).status_code == 400
    assert not accepts(bound.host, bound.port)
    assert capfd.readouterr() == ("", "")


async def test_a_taken_port_is_told() -> None:
    """One sentence with address and port, not a group of exceptions."""
    async with serving(app()) as bound:
        with pytest.raises(HostFault, match=rf"cannot listen on 127\.0\.0\.1 port {bound.port}: "):
            async with serving(app(), port=bound.port):
                raise AssertionError


async def test_an_application_that_hangs_does_not_hold_the_block() -> None:
    """After the grace it is cut off, in a request and in its own shutdown."""
    reached = trio.Event()

    async def hang(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.startup.complete"})
        else:
            reached.set()
        await trio.sleep_forever()

    async def ask(url: str) -> None:
        async with httpx.AsyncClient(timeout=None) as api:
            with pytest.raises(httpx.HTTPError):
                await api.get(url)

    async with trio.open_nursery() as nursery:
        with trio.fail_after(SECONDS):
            async with serving(hang, grace=0.05) as bound:
                nursery.start_soon(ask, bound.url)
                await reached.wait()
    assert not accepts(bound.host, bound.port)


async def test_cancelling_the_block_frees_the_port() -> None:
    """Ctrl-C of ``stamina serve``."""
    with trio.CancelScope() as scope:
        async with serving(app()) as bound:
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert not accepts(bound.host, bound.port)


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    """The nursery inside does not wrap it."""
    with pytest.raises(ZeroDivisionError):
        async with serving(app()):
            raise ZeroDivisionError
