"""What an agent's workspace holds: the benchmark's own files put back (contract L3), and its code counted.

The folder is hostile: links are never followed, nothing but regular files is opened, and every scan is bounded.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

import attrs

from actors.beneath import read_beneath, write_beneath

LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".tsx": "typescript",
    ".rs": "rust",
    ".go": "go",
    ".sh": "shell",
    ".rb": "ruby",
    ".java": "java",
    ".kt": "kotlin",
    ".php": "php",
    ".c": "c",
    ".h": "c",
    ".cc": "c++",
    ".cpp": "c++",
    ".cs": "c#",
    ".ex": "elixir",
    ".exs": "elixir",
    ".sql": "sql",
    ".html": "html",
    ".css": "css",
}
"""Languages by the end of a file's name; other files are not code."""

PROGRAMS: Final[Mapping[str, str]] = {
    "python": "python",
    "pypy": "python",
    "gunicorn": "python",
    "uvicorn": "python",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "javascript",
    "bun": "javascript",
    "ruby": "ruby",
    "java": "java",
    "php": "php",
}
"""Languages by the program that listens; versions behind the name (``python3.11``) do not matter."""

COMPILED: Final = ("rust", "go")

SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "env", "target", "__pycache__", ".git", "dist", "build", "vendor", "site-packages", ".cache"})
"""Folders that hold what tools made or fetched."""

MOST_LISTED: Final = 20_000
"""Entries of one folder that are looked at."""

Files: TypeAlias = Mapping[str, tuple[int, ...]]
"""Each code file, with a checksum for each line that is not blank."""


@attrs.frozen
class ScanLimits:
    """Bounds of a scan: entries looked at, bytes of one file (larger ones are not code that a person reads), bytes in all, depth."""

    entries: int = 20_000
    file_bytes: int = 1_000_000
    total_bytes: int = 20_000_000
    depth: int = 24


@attrs.frozen
class Scan:
    """The code of a workspace. ``partial``: a limit was reached."""

    files: Files
    partial: bool = False

    def lines(self) -> dict[str, int]:
        """Lines that are not blank, by language, in the order of the languages' names."""
        counts: Counter[str] = Counter()
        for name, lines in self.files.items():
            counts[LANGUAGES[_ending(name)]] += len(lines)
        return dict(sorted(counts.items()))


def scan(root: Path, limits: ScanLimits = ScanLimits()) -> Scan:
    """Read the code in a folder. What cannot be read is passed over."""
    files: dict[str, tuple[int, ...]] = {}
    left_entries, left_bytes = limits.entries, limits.total_bytes
    for entry, relative in _entries(root, limits.depth):
        left_entries -= 1
        if left_entries < 0 or left_bytes < 0:
            return Scan(files, partial=True)
        if _ending(entry.name) in LANGUAGES and entry.is_file(follow_symlinks=False):
            data = read_beneath(root, relative, limits.file_bytes)
            if data is not None and b"\0" not in data:
                left_bytes -= len(data)
                files[os.fsencode(relative).decode(errors="replace")] = _checksums(data)
    return Scan(files)


def churn(before: Files, after: Files) -> tuple[int, int]:
    """Lines added and removed, file by file. A line that only moved within its file counts as neither."""
    added = removed = 0
    for name in {**before, **after}:
        old, new = Counter(before.get(name, ())), Counter(after.get(name, ()))
        added += (new - old).total()
        removed += (old - new).total()
    return added, removed


def program_language(program: str, lines: Mapping[str, int]) -> str | None:
    """The language of a program that listens: by its name, else the compiled language that the workspace has most of, None when neither tells."""
    name = program.lower().rstrip("0123456789.-")
    if name in PROGRAMS:
        return PROGRAMS[name]
    compiled = [language for language in COMPILED if lines.get(language)]
    return max(compiled, key=lambda language: lines[language], default=None)


def restore(workspace: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Make these files be as given, and say which were not. Raises SandboxFault when the disk refuses."""
    changed = []
    for name, text in files.items():
        data = text.encode()
        if read_beneath(workspace, PurePosixPath(name), len(data)) != data:
            write_beneath(workspace, PurePosixPath(name), data)
            changed.append(name)
    return tuple(changed)


def load_files(path: Path) -> Files:
    """The files of an earlier scan; empty when there are none that can be read: then all lines count as added."""
    try:
        data = json.loads(path.read_bytes())
        return {str(name): tuple(map(int, lines)) for name, lines in data.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def dump_files(files: Files) -> bytes:
    """As :func:`load_files` reads them."""
    return json.dumps(files, separators=(",", ":")).encode()


def _entries(root: Path, depth: int) -> Iterator[tuple[os.DirEntry[str], PurePosixPath]]:
    """Everything below a folder, in the order of names, folders of tools left out."""
    stack = [PurePosixPath()]
    while stack:
        folder = stack.pop()
        for entry in _listed(root / folder):
            relative = folder / entry.name
            yield entry, relative
            if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED and len(relative.parts) < depth:
                stack.append(relative)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return []
        with os.scandir(folder) as entries:
            return sorted(itertools.islice(entries, MOST_LISTED), key=lambda entry: entry.name)
    except OSError:
        return []


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _checksums(data: bytes) -> tuple[int, ...]:
    return tuple(zlib.crc32(line) for line in (raw.strip() for raw in data.splitlines()) if line)
