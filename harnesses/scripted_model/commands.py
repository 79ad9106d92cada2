"""The shell commands that the model gives, and the reading of what they print.

Whatever a CLI wraps around an output, cuts from its end or adds to it, each output that counts has a line of its own that says what it is and is checked by
hash. Everything is plain ``sh`` with coreutils (or busybox), for agents' images differ, and without substitution of commands, which Gemini CLI refuses.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

NOTES: Final = ".coder/notes.gz"
"""Where the model keeps what it knows, in the workspace."""

SPECIFICATION: Final = "initial_specification.md"

COMMAND_BYTES: Final = 12_000
"""Bytes of text that go into one command: far below what a kernel (128 KiB an argument) and any CLI takes."""

OUTPUT_BYTES: Final = 4_500
"""Bytes of a file that are shown at once: with base64 and what is around it below 8 kB, since some CLIs cut outputs of more than 10,000 characters."""

_HASH: Final = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})[ *]+([\w./]+(?::written)?)")
_LOOKED: Final = "==looked=="
_DATA: Final = re.compile(r"==data (\S+) (\d+) (\d+)(?:\s|\\n)([A-Za-z0-9+/=\s\\]*?)==end")


def digest(data: bytes) -> str:
    """What a file's content is known by."""
    return hashlib.sha256(data).hexdigest()


def packed(text: str) -> bytes:
    """A text as notes are kept; the same bytes for the same text on the same machine."""
    return gzip.compress(text.encode(), mtime=0)


@attrs.frozen
class Look:
    """What the workspace holds.

    Attributes:
        hashes: of each file that is there, of those that were asked for.
    """

    hashes: Mapping[str, str]

    @classmethod
    def read(cls, output: str) -> Look | None:
        """What :func:`look` printed, None when it is not (all) there."""
        return cls({name: value for value, name in _HASH.findall(output)}) if _LOOKED in output else None


def look(names: Iterable[str]) -> str:
    """Print the hash of each file. The last line does not stand like this in the command: some CLIs print that too."""
    return f"sha256sum {' '.join(names)} 2>/dev/null\necho '==loo''ked=='\n"


def dawdle(seconds: float) -> str:
    """Do nothing for so long. Some CLIs refuse a command that is nothing but ``sleep``."""
    return f"seq {round(seconds)} | while read n; do sleep 1; done\necho waited\n"


@attrs.frozen
class Shown:
    """A part of a file, packed.

    Attributes:
        at: the first byte of it.
        size: of the whole packed file.
    """

    name: str
    at: int
    size: int
    data: bytes

    @classmethod
    def read(cls, output: str) -> Shown | None:
        """What :func:`show` printed, None when it is not there or damaged."""
        match = _DATA.search(output)
        if match is None:
            return None
        try:
            data = base64.b64decode(re.sub(r"[^A-Za-z0-9+/=]", "", match[4].replace("\\n", "")), validate=True)
        except binascii.Error:
            return None
        at, size = int(match[2]), int(match[3])
        return cls(match[1], at, size, data) if len(data) == min(OUTPUT_BYTES, size - at) else None


def show(name: str, at: int = 0) -> str:
    """Print a part of a file, packed if it is not packed already."""
    cat = f'cat "{name}"' if name.endswith(".gz") else f'gzip -9nc "{name}"'
    return f"""{cat} | wc -c | sed 's|^ *|==data {name} {at} |'
{cat} | tail -c +{at + 1} | head -c {OUTPUT_BYTES} | base64
echo "==end"
"""


def unpacked(data: bytes) -> str | None:
    """The text in a packed file, None when it is damaged."""
    try:
        return gzip.decompress(data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None


@attrs.frozen
class Write:
    """A command that writes a part of a file; the last part puts it in place.

    Attributes:
        command: for the shell.
        name, digest: what is printed when it is done: the hash of all that is written by then.
    """

    command: str
    name: str
    digest: str

    def done(self, output: str) -> bool:
        """Whether it was carried out."""
        return (self.digest, f"{self.name}:written") in _HASH.findall(output)


def writes(name: str, content: bytes, *, plain: bool = True) -> list[Write]:
    """The commands that write a file. A text goes as it is, unless it is not to; what is packed, or would need many commands, goes in base64."""
    text = plain and not name.endswith(".gz") and len(content) <= 3 * COMMAND_BYTES
    return _plain(name, content.decode()) if text else _encoded(name, content)


def _plain(name: str, text: str) -> list[Write]:
    """Heredocs, each of whole lines."""
    parts, sofar = [], ""
    chunks = _chunks(text)
    for number, chunk in enumerate(chunks):
        sofar += chunk
        arrow = ">" if number == 0 else ">>"
        body = f"cat {arrow} {name}.new <<'END_OF_{_word(name)}'\n{chunk}END_OF_{_word(name)}\n"
        parts.append(_write(name, body, sofar.encode(), last=number == len(chunks) - 1))
    return parts


def _chunks(text: str) -> list[str]:
    chunks, size = [""], 0
    for line in text.splitlines(keepends=True):
        if size and size + len(line.encode()) > COMMAND_BYTES:
            chunks.append("")
            size = 0
        chunks[-1] += line
        size += len(line.encode())
    return chunks


def _encoded(name: str, content: bytes) -> list[Write]:
    """Base64 of the packed file, then everything unpacked at once."""
    is_packed = name.endswith(".gz")
    text = base64.encodebytes(content if is_packed else gzip.compress(content, mtime=0)).decode()
    parts, sofar = [], ""
    chunks = _chunks(text)
    for number, chunk in enumerate(chunks):
        sofar += chunk
        arrow = ">" if number == 0 else ">>"
        body = f"mkdir -p .coder && cat {arrow} .coder/draft <<'END_OF_DRAFT'\n{chunk}END_OF_DRAFT\n"
        if number < len(chunks) - 1:
            parts.append(Write(body + _report(".coder/draft", name), name, digest(sofar.encode())))
        else:
            body += f"base64 -d .coder/draft {'' if is_packed else '| gunzip '}> {name}.new && rm .coder/draft\n"
            parts.append(_write(name, body, content, last=True))
    return parts


def _write(name: str, body: str, sofar: bytes, *, last: bool) -> Write:
    place = f"mv {name}.new {name}\n" if last else ""
    return Write(body + place + _report(name if last else f"{name}.new", name), name, digest(sofar))


def _report(path: str, name: str) -> str:
    return f"sha256sum < {path} | sed 's|-$|{name}:written|'\n"


def _word(name: str) -> str:
    return re.sub(r"[^A-Z]", "_", name.upper())
