"""What our images are made of: the folders of ``harnesses/images``, each with a Dockerfile and a smoke test, as values.

``base`` is what all others build on; a harness has an image of its own when there is a folder of its name, else it runs in ``base``.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import attrs

from stamina.errors import InputError

BASE: Final = "base"
WARDEN: Final = "/usr/local/lib/stamina/warden"
"""Where the base image has the warden."""

CA_BUNDLE: Final = "ca-bundle.crt"
_DOCKERFILE: Final = "Dockerfile"
_SMOKE: Final = "smoke.sh"
_WARDEN_FOLDER: Final = "warden"
_RUNNERS: Final = {"mini-swe-agent": "mini_swe_runner", "openhands": "openhands_runner"}
"""Images with a program of ours in them: a package beside this module, which goes into the build context under its own name."""


@attrs.frozen
class Recipe:
    """One image.

    Attributes:
        name: as in ``stamina images build NAME``.
        files: path in the build context ► content; ``Dockerfile`` is one of them.
        smoke: a shell script that succeeds in a good image.
        parent: the image it builds on (its Dockerfile's ``BASE``), None for the base.
    """

    name: str
    files: Mapping[str, bytes] = attrs.field(repr=False)
    smoke: str = attrs.field(repr=False)
    parent: Recipe | None = None

    @property
    def digest(self) -> str:
        """Of everything that it is made of, but not of what a user adds (base image, certificates, arguments)."""
        parts = [self.name.encode(), self.smoke.encode(), self.parent.digest.encode() if self.parent else b""]
        parts += [part for path, content in sorted(self.files.items()) for part in (path.encode(), content)]
        return _digest(parts)

    def tag(self, *more: bytes) -> str:
        """A name that tells its content; ``more`` is what a user adds."""
        return f"stamina/{self.name}:{_digest([self.digest.encode(), *more])[:12]}"

    def context(self, ca_bundle: bytes = b"") -> bytes:
        """The build context as a tar archive: the same bytes for the same content."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path, content in sorted({**self.files, CA_BUNDLE: ca_bundle}.items()):
                member = tarfile.TarInfo(path)
                member.size = len(content)
                member.mode = 0o644
                archive.addfile(member, io.BytesIO(content))
        return packed.getvalue()


def recipe(name: str) -> Recipe:
    """The image of this name. Raises InputError when there is none."""
    folder = _images() / name
    if name not in names():
        raise InputError(f'there is no image "{name}"; there are {", ".join(names())}')
    found = dict(_files(folder, ""))
    smoke = found.pop(_SMOKE, b"").decode()
    if name == BASE:
        return Recipe(name, {**found, **dict(_files(_images() / _WARDEN_FOLDER, f"{_WARDEN_FOLDER}/"))}, smoke)
    return Recipe(name, {**found, **_runner(name)}, smoke, recipe(BASE))


def _runner(name: str) -> dict[str, bytes]:
    if name not in _RUNNERS:
        return {}
    package = files("harnesses") / _RUNNERS[name]
    return {f"{_RUNNERS[name]}/{entry.name}": entry.read_bytes() for entry in package.iterdir() if entry.name.endswith(".py")}


def names() -> list[str]:
    """All images of ours, the base first."""
    found = sorted(folder.name for folder in _images().iterdir() if (folder / _DOCKERFILE).is_file())
    return sorted(found, key=lambda name: name != BASE)


def image_of(harness: str) -> str:
    """The image that a harness runs in."""
    return harness if harness in names() else BASE


def warden_digest() -> str:
    """Of the warden's source."""
    return _digest([part for path, content in sorted(_files(_images() / _WARDEN_FOLDER, "")) for part in (path.encode(), content)])


def _images() -> Traversable:
    return files("harnesses") / "images"


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()


def _digest(parts: list[bytes]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()
