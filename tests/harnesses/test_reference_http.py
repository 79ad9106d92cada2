"""The reference agent's server as an HTTP server."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.harnesses.agent_lab import Client, serving
from tests.waiting import SECONDS

GET = b"GET /analytics/dog/count HTTP/1.1\r\nHost: x\r\n\r\n"
COUNT = b'{"result":0}'


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving() as running:
        yield running


def exchange(client: Client, sent: bytes) -> bytes:
    """All that comes back before the server closes the connection, which it does when our side is closed."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def test_one_connection_serves_many_requests(client: Client) -> None:
    """Also when they come at once."""
    assert exchange(client, GET * 3).count(COUNT) == 3


@pytest.mark.parametrize("request_", [GET.replace(b"1.1", b"1.0"), GET.replace(b"Host: x", b"Connection: close")])
def test_closes_when_it_is_asked_to(client: Client, request_: bytes) -> None:
    """What comes behind such a request is not answered."""
    assert exchange(client, request_ * 2).count(COUNT) == 1


def test_reads_chunks(client: Client) -> None:
    """A chunked body is a body like any other."""
    body = b'5\r\n{"id"\r\n15;x=y\r\n:"u","email":"a@b.c"}\r\n0\r\n\r\n'
    answer = exchange(client, b"POST /userprofile HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body + GET)
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert COUNT in answer


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / SPDY/3\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 300 + b"\r\n",
        b"POST /dog HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /dog HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /dog HTTP/1.1\r\nContent-Length: 50\r\n\r\n{}",
        b"POST /dog HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_survives_what_is_not_http(client: Client, sent: bytes) -> None:
    """A clear refusal, and the next connection is served."""
    assert exchange(client, sent).startswith(b"HTTP/1.1 400 ")
    assert COUNT in exchange(client, GET)


@pytest.mark.parametrize("path", ["/", "//", "/dog/d1/rest/x", "/analytics", "/analytics/dog", "/%ff", "/dog/%00", "/analytics/dog/age/avg/x"])
def test_unknown_paths_are_not_found(client: Client, path: str) -> None:
    """None of them is an error of the server."""
    assert client("GET", path)[0] == 404


def test_refuses_other_methods(client: Client) -> None:
    """They are answered, not ignored."""
    assert [client(method, "/dog/x")[0] for method in ("PUT", "POST")] == [405, 405]
    assert client("DELETE", "/dog")[0] == 405
