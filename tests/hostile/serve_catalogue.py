"""The catalogue of hostile servers as the program of an agent: ``serve_catalogue.py PORT`` serves all of them, each on a port of its own.

Once all listen, their ports are in ``ports.json``, and only then PORT answers.
"""

import json
import sys

import trio

from tests.hostile.servers import HONEST, SERVERS, DiesAfter, accept, always

EVERYWHERE = "0.0.0.0"


async def main(port: int) -> None:
    """Serve until killed."""
    ports = {}
    async with trio.open_nursery() as nursery:
        for name, behaviour in {**SERVERS, "dies-after-4": DiesAfter(4)}.items():
            [listener] = await trio.open_tcp_listeners(0, host=EVERYWHERE)
            ports[name] = listener.socket.getsockname()[1]
            if isinstance(behaviour, DiesAfter):
                behaviour.listener = listener
            nursery.start_soon(accept, listener, behaviour, nursery)
        await trio.Path("ports.json").write_text(json.dumps(ports))
        [ready] = await trio.open_tcp_listeners(port, host=EVERYWHERE)
        nursery.start_soon(accept, ready, always(HONEST), nursery)


if __name__ == "__main__":
    trio.run(main, int(sys.argv[1]))
