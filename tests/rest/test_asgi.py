"""The ground truth speaks ASGI."""

from typing import Any

import httpx
import pytest

from stamina.rest.asgi import Application
from stamina.rest.schema import Entity, Field, IntegerType, State
from stamina.rest.truth import Truth

STATE = State((Entity("Dog", (Field("age", IntegerType(minimum=0)),)),))


def client(**options: Any) -> httpx.AsyncClient:
    app = Application(Truth(STATE).handle, **options)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://truth")


async def test_objects_come_and_go() -> None:
    """Statuses, bodies and their type arrive as the handler gave them."""
    async with client() as api:
        created = await api.post("/dog", json={"id": "d1", "age": 3})
        assert (created.status_code, created.json()) == (201, {"id": "d1", "age": 3})
        assert created.headers["content-type"] == "application/json"
        assert (await api.get("/dog?age=3")).json() == [{"id": "d1", "age": 3}]
        gone = await api.delete("/dog/d1")
        assert (gone.status_code, gone.content) == (204, b"")
        assert "content-length" not in gone.headers


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"id": "d1", "age": NaN}', b"[" * 5000])
async def test_bodies_that_are_no_objects_are_refused(body: bytes) -> None:
    """Raw bytes go through the handler's own reading of JSON (H9)."""
    async with client() as api:
        assert (await api.post("/dog", content=body)).status_code == 400
        assert (await api.get("/dog")).json() == []


async def test_a_body_beyond_the_limit_is_not_kept() -> None:
    """413, also when it comes in pieces; the limit itself is fine."""

    async def pieces() -> Any:
        for _ in range(5):
            yield b"         "

    async with client(body_limit=24) as api:
        assert (await api.post("/dog", content=pieces())).status_code == 413
        assert (await api.post("/dog", content=b'{"id": "d1", "age": 123}')).status_code == 201


async def test_lifespan_is_answered() -> None:
    """A server that insists on startup and shutdown events gets both."""
    events = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": next(events)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await Application(Truth(STATE).handle)({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_client_that_leaves_changes_nothing() -> None:
    """Half a body is no request."""
    truth = Truth(STATE)
    messages = iter([{"type": "http.request", "body": b'{"id": "d1",', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    await Application(truth.handle)({"type": "http", "method": "POST", "path": "/dog"}, receive, send)


async def test_websockets_are_closed() -> None:
    """HTTP only."""
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> dict[str, Any]:
        raise AssertionError

    await Application(Truth(STATE).handle)({"type": "websocket"}, receive, send)
    assert sent == ["websocket.close"]
