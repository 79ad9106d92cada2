"""The folder that a container's output is written to, when an agent has been in it."""

import os
from pathlib import Path

from actors.spool import Spool


def deep(folder: Path, levels: int) -> None:
    """Nested folders, longer together than any path may be."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deep" * 20, dir_fd=here)
        inner = os.open("deep" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def test_what_is_taken_is_where_it_belongs(tmp_path: Path) -> None:
    """While it is written and after."""
    spool, target = Spool.make(tmp_path / "spool"), tmp_path / "out"

    with spool.taking(target) as name:
        with (spool.path / name).open("a") as file:
            file.write("said")
        assert target.read_text() == "said"
    assert os.listdir(spool.path) == []


def test_a_link_to_what_is_on_record_is_removed(tmp_path: Path) -> None:
    """Or a later command could write what an earlier one said."""
    spool, target = Spool.make(tmp_path / "spool"), tmp_path / "out"

    with spool.taking(target) as name:
        (spool.path / name).write_text("said")
        os.link(spool.path / name, spool.path / "kept")
    spool.clear()

    assert os.listdir(spool.path) == []
    assert target.read_text() == "said"


def test_whatever_an_agent_left_is_removed(tmp_path: Path) -> None:
    """Folders deeper than any path, names as long as any, pipes, links; a folder that is locked."""
    spool, outside = Spool.make(tmp_path / "spool"), tmp_path / "outside"
    outside.write_text("stays")
    deep(spool.path, 200)
    (spool.path / ("x" * 255)).mkdir()
    (spool.path / ("x" * 255) / "inner").mkdir()
    os.mkfifo(spool.path / "pipe")
    (spool.path / "link").symlink_to(outside)
    spool.path.chmod(0)

    spool.clear()

    assert os.listdir(spool.path) == []
    assert outside.read_text() == "stays"
    with spool.giving(b"data") as name:
        assert (spool.path / name).read_bytes() == b"data"


def test_a_folder_that_is_there_is_made_empty(tmp_path: Path) -> None:
    """It is left over from a container before."""
    (tmp_path / "spool").mkdir(mode=0o755)
    deep(tmp_path / "spool", 200)

    spool = Spool.make(tmp_path / "spool")

    assert os.listdir(spool.path) == []
    assert spool.path.stat().st_mode & 0o777 == 0o700
