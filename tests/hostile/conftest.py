"""The engine, for those suites that need one."""

from tests.docker.conftest import host

__all__ = ["host"]
