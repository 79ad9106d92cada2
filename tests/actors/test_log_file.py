"""The log on a disk that is full."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import structlog

from actors.log_file import LogFile
from actors.observer import logging_to
from stamina.errors import HostFault


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """The kernel takes no more than this many bytes into any file, as a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_costs_lines_and_says_how_many(tmp_path: Path) -> None:
    """Nothing is raised, what was cut short does not spoil the next line, and the gap is in the log."""
    path = tmp_path / "log.jsonl"
    with closing(LogFile(path)) as log:
        log.write('{"n": 1}\n')
        with files_end_at(12):
            log.write('{"n": 2}\n')
            log.write('{"n": 3}\n')
        log.write('{"n": 4}\n')
    assert path.read_text().splitlines() == ['{"n": 1}', '{"n', '{"event": "log lines lost", "level": "warning", "count": 2}', '{"n": 4}']


def test_logging_goes_on_when_no_line_can_be_written(tmp_path: Path) -> None:
    """Whoever logs hears nothing of it: a scenario in its agent's hundredth turn least of all."""
    path = tmp_path / "log.jsonl"
    with logging_to(path):
        structlog.get_logger().info("before")
        with files_end_at(0):
            structlog.get_logger().error("lost")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["before"]


def test_a_log_that_cannot_be_opened_is_the_hosts_fault(tmp_path: Path) -> None:
    """With the path and the reason."""
    with pytest.raises(HostFault, match=r"cannot open .*nowhere/log\.jsonl: No such file"):
        LogFile(tmp_path / "nowhere" / "log.jsonl")
