"""A ground truth as a real HTTP server, for the length of a block."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias, cast

import attrs
import hypercorn.trio
import trio
from hypercorn.config import Config

from stamina.errors import HostFault

Application: TypeAlias = Callable[..., Awaitable[None]]
"""An ASGI application, such as :class:`stamina.rest.asgi.Application`."""

GRACE: Final = 2.0
"""Seconds that requests in flight get when the block ends."""

_KEEP_ALIVE: Final = 75
_ENDLESS: Final = 2**31
_SILENT: Final = logging.getLogger("stamina.truth.hypercorn")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@attrs.frozen
class Bound:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Its base URL, without a slash at the end."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


@asynccontextmanager
async def serving(app: Application, host: str = "127.0.0.1", port: int = 0, *, grace: float = GRACE) -> AsyncIterator[Bound]:
    """Serve an ASGI application for the length of the block; yields where, once it accepts connections.

    When the block ends no new connection is accepted, requests in flight get ``grace`` seconds, and then the port is free again.

    Args:
        app: the application.
        host: the address to listen on.
        port: 0 takes any free one.
        grace: seconds.

    Raises:
        HostFault: the address cannot be listened on.
    """
    listener = _listen(host, port)
    bound = Bound(*listener.getsockname()[:2])
    ending = trio.Event()
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(_serve, app, _config(listener, grace), ending))
        try:
            yield bound
        except Exception as error:
            # Raised again below, where no nursery wraps it in a group.
            failure = error
        finally:
            ending.set()
            # Hypercorn bounds the wait for requests itself; this bounds the application's own shutdown.
            nursery.cancel_scope.deadline = trio.current_time() + 3 * grace
    if failure is not None:
        raise failure


async def _serve(app: Application, config: Config, ending: trio.Event, *, task_status: trio.TaskStatus[list[str]]) -> None:
    await hypercorn.trio.serve(cast(Any, app), config, shutdown_trigger=ending.wait, task_status=task_status, mode="asgi")


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128)
    except (OSError, OverflowError) as error:
        raise HostFault(f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}") from error


def _config(listener: socket.socket, grace: float) -> Config:
    """Quiet, patient with connections that are kept open, and served from a socket that is ours already: hypercorn takes it over and closes it."""
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.accesslog = None
    config.errorlog = _SILENT
    config.graceful_timeout = grace
    config.keep_alive_timeout = _KEEP_ALIVE
    config.keep_alive_max_requests = _ENDLESS
    return config
