"""Resolves ``harnesses/images/*/requirements.in`` again: every package that an image installs from Python's registry, pinned, with the hashes of the files that
are used on x86-64 and on arm64, and nothing else.

    PYTHON=python3.13 python scripts/lock_images.py [IMAGE...]

The interpreter must be what the images have (Debian 13: 3.13) on an x86-64 Linux, because packages ask for it. Its registry must have a wheel, or else a source
archive, of each package for both kinds of machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

Found: TypeAlias = dict[str, tuple[str, str]]
"""Package ► its version, the hash of its file."""

IMAGES = Path(__file__).parents[1] / "harnesses" / "images"
PYTHON = os.environ.get("PYTHON", "python3.13")
ARM = (*(f"--platform=manylinux_2_{minor}_aarch64" for minor in range(41, 16, -1)), "--platform=manylinux2014_aarch64", "--platform=linux_aarch64")
NO_DEPENDENCIES = "# no-deps: "
"""A line of a requirements.in that begins so names a package whose dependencies are in the file, as far as they are used."""


def resolve(folder: Path) -> Found:
    """All packages of an image, for x86-64."""
    wanted = (folder / "requirements.in").read_text().splitlines()
    alone = [line.removeprefix(NO_DEPENDENCIES) for line in wanted if line.startswith(NO_DEPENDENCIES)]
    found = report("-r", str(folder / "requirements.in"))
    return {**found, **report("--no-deps", *alone)} if alone else found


def for_arm(packages: Found) -> Found:
    """The same versions, for arm64."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write("\n".join(f"{name}=={version}" for name, (version, _) in packages.items()))
        pins.flush()
        return report("--no-deps", "--target=unused", "--implementation=cp", "--python-version=3.13", *ARM, "-r", pins.name)


def report(*what: str) -> Found:
    """What pip would install."""
    command = [PYTHON, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--disable-pip-version-check", "--report=-", *what]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = ((each["metadata"], each["download_info"]["archive_info"]["hashes"]["sha256"]) for each in answer["install"])
    return {metadata["name"].lower().replace("_", "-"): (metadata["version"], sha) for metadata, sha in packages}


def lock(folder: Path) -> None:
    """Write its requirements.txt."""
    ours = resolve(folder)
    theirs = for_arm(ours)
    lines = ["# Made by scripts/lock_images.py from requirements.in."]
    for name, (version, sha) in sorted(ours.items()):
        hashes = sorted({sha, theirs[name][1]})
        lines.append(" \\\n    ".join((f"{name}=={version}", *(f"--hash=sha256:{each}" for each in hashes))))
    (folder / "requirements.txt").write_text("\n".join(lines) + "\n")
    print(f"{folder.name}: {len(ours)} packages")


def main() -> None:
    """Lock the images that are named, or all."""
    for source in sorted(IMAGES.glob("*/requirements.in")):
        if len(sys.argv) == 1 or source.parent.name in sys.argv[1:]:
            lock(source.parent)


if __name__ == "__main__":
    main()
