"""Ways for the agent's process to fail in the middle of its work."""

from __future__ import annotations

import os
import signal
import sys
import time

from harnesses.reference_agent.orders import Orders


def fail(orders: Orders) -> None:
    """Fail as ordered; return when no failure was ordered, or one that comes later."""
    if orders.failure == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif orders.failure == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif orders.failure == "exit":
        sys.exit(orders.status)
    elif orders.failure == "hang":
        while True:
            time.sleep(3600)
