"""Counting code and putting files back in a folder that is out to get us."""

import os
import socket
import tempfile
from pathlib import Path, PurePosixPath

import pytest

from actors.beneath import read_beneath, write_beneath
from actors.workspace import ScanLimits, churn, dump_files, load_files, program_language, restore, scan
from stamina.errors import SandboxFault

NOBODY = 65_534


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class TestCounting:
    def test_lines_by_language(self, tmp_path: Path) -> None:
        """Blank lines and files that are no code do not count."""
        put(tmp_path, app_py="a\n\n b\n", src__main_rs="x\n", src__b_go="y\ny\n", notes_txt="z\n")
        assert scan(tmp_path).lines() == {"go": 2, "python": 2, "rust": 1}

    def test_what_tools_made_is_left_out(self, tmp_path: Path) -> None:
        """Dependencies and builds are not the agent's code."""
        put(tmp_path, target__debug__y_rs="b\n", my_js="c\n")
        for folder in ("node_modules", ".venv"):
            (tmp_path / folder / "lib").mkdir(parents=True)
            (tmp_path / folder / "lib" / "x.js").write_text("d\n")
        assert scan(tmp_path).lines() == {"javascript": 1}

    def test_links_fifos_sockets_and_binaries_are_passed_over(self, tmp_path: Path) -> None:
        """Nothing outside is read, nothing blocks."""
        outside = tmp_path / "outside"
        put(outside, secret_py="s\n")
        inside = tmp_path / "inside"
        put(inside, ok_py="o\n")
        (inside / "link.py").symlink_to(outside / "secret.py")
        (inside / "folder").symlink_to(outside)
        (inside / "loop").symlink_to(inside)
        os.mkfifo(inside / "fifo.py")
        (inside / "binary.py").write_bytes(b"\x7fELF\0\n")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(inside / "socket.py"))
            assert scan(inside).lines() == {"python": 1}

    def test_names_that_are_not_utf8(self, tmp_path: Path) -> None:
        """Counted like any other, and kept."""
        (tmp_path / os.fsdecode(b"\xff.py")).write_text("a\n")
        found = scan(tmp_path)
        assert found.lines() == {"python": 1}
        assert dump_files(found.files)

    def test_scans_are_bounded(self, tmp_path: Path) -> None:
        """Many files, big files, deep folders: partial, and said so."""
        for number in range(30):
            (tmp_path / f"{number}.py").write_text("a\n")
        assert scan(tmp_path, ScanLimits(entries=10)).partial
        assert scan(tmp_path, ScanLimits(total_bytes=10)).partial
        assert scan(tmp_path, ScanLimits(file_bytes=1)).lines() == {}
        (tmp_path / "a/b/c").mkdir(parents=True)
        (tmp_path / "a/b/c/d.go").write_text("a\n")
        assert "go" not in scan(tmp_path, ScanLimits(depth=2)).lines()

    def test_a_workspace_that_is_gone_is_empty(self, tmp_path: Path) -> None:
        """Or a link to somewhere else."""
        put(tmp_path / "real", a_py="a\n")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert scan(tmp_path / "nothing").files == scan(tmp_path / "link").files == {}


class TestChurn:
    def test_added_and_removed_lines(self, tmp_path: Path) -> None:
        """Moved lines are neither; a file that went is removed."""
        put(tmp_path, a_py="one\ntwo\n", b_py="three\n")
        before = scan(tmp_path).files
        put(tmp_path, a_py="two\none\nfour\n")
        (tmp_path / "b.py").unlink()
        assert churn(before, scan(tmp_path).files) == (1, 1)

    def test_the_time_before_is_remembered_on_disk(self, tmp_path: Path) -> None:
        """And a damaged memory only makes all lines new."""
        put(tmp_path, a_py="one\n")
        files = scan(tmp_path).files
        memory = tmp_path / "lines.json"
        memory.write_bytes(dump_files(files))
        assert load_files(memory) == files
        memory.write_text("[1]")
        assert load_files(memory) == {}
        assert load_files(tmp_path / "nothing") == {}


@pytest.mark.parametrize(
    ("program", "lines", "language"),
    [
        ("python3.11", {}, "python"),
        ("node", {"go": 5}, "javascript"),
        ("server", {"go": 5, "rust": 1}, "go"),
        ("main", {"python": 5}, None),
        ("", {}, None),
    ],
)
def test_the_language_of_what_listens(program: str, lines: dict[str, int], language: str | None) -> None:
    """By its name, else by the compiled code that is there."""
    assert program_language(program, lines) == language


class TestRestoring:
    def test_only_what_changed_is_put_back(self, tmp_path: Path) -> None:
        """And named."""
        files = {"README.md": "read\n", "docs/spec.md": "spec\n"}
        assert restore(tmp_path, files) == ("README.md", "docs/spec.md")
        assert restore(tmp_path, files) == ()
        (tmp_path / "README.md").write_text("reap\n")
        assert restore(tmp_path, files) == ("README.md",)
        assert (tmp_path / "README.md").read_text() == "read\n"

    @pytest.mark.parametrize("what", ["link", "dangling", "folder", "fifo", "linked parent"])
    def test_whatever_stands_in_the_way(self, tmp_path: Path, what: str) -> None:
        """It is replaced, never written through."""
        root, outside = tmp_path / "root", tmp_path / "outside"
        root.mkdir()
        put(outside, victim_txt="safe\n")
        name = "docs/a.md" if what == "linked parent" else "a.md"
        match what:
            case "link":
                (root / "a.md").symlink_to(outside / "victim.txt")
            case "dangling":
                (root / "a.md").symlink_to(outside / "new.txt")
            case "folder":
                put(root / "a.md", x_txt="x")
            case "fifo":
                os.mkfifo(root / "a.md")
            case "linked parent":
                (root / "docs").symlink_to(outside)
        assert restore(root, {name: "text\n"}) == (name,)
        assert read_beneath(root, PurePosixPath(name), 100) == b"text\n"
        assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("victim.txt", "safe\n")]

    def test_a_folder_that_is_deeper_than_any_path_goes_too(self, tmp_path: Path) -> None:
        """Neither the stack nor the length of a path may decide."""
        here = os.getcwd()
        try:
            os.chdir(tmp_path)
            os.mkdir("a.md")
            for name in ("a.md", *["deep"] * 1500):
                os.chdir(name)
                os.mkdir("deep")
                Path("file").touch()
        finally:
            os.chdir(here)

        assert restore(tmp_path, {"a.md": "text\n"}) == ("a.md",)
        assert os.listdir(tmp_path) == ["a.md"]

    def test_an_owner_that_locked_itself_out_gets_in(self) -> None:
        """The workspace, a folder in it, and what stands in the way. Root is never locked out, so for once it is somebody else."""
        us = os.getuid()
        with tempfile.TemporaryDirectory() as place:
            root = Path(place) / "root"
            os.chmod(place, 0o777)
            os.seteuid(us or NOBODY)
            try:
                put(root / "docs" / "a.md", x_txt="x")
                for path in (root / "docs/a.md", root / "docs", root):
                    path.chmod(0)
                assert restore(root, {"docs/a.md": "text\n"}) == ("docs/a.md",)
                assert (root / "docs/a.md").read_text() == "text\n"
            finally:
                os.seteuid(us)

    def test_paths_out_of_the_folder_are_refused(self, tmp_path: Path) -> None:
        """An adapter's mistake, or worse."""
        with pytest.raises(SandboxFault):
            write_beneath(tmp_path, PurePosixPath("../../x"), b"")

    def test_large_files_are_not_read(self, tmp_path: Path) -> None:
        """Beyond the limit there is nothing."""
        put(tmp_path, a_txt="12345")
        assert read_beneath(tmp_path, PurePosixPath("a.txt"), 4) is None
        assert read_beneath(tmp_path, PurePosixPath("a.txt"), 5) == b"12345"
