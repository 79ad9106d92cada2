"""Whether the CLI in a sandbox is the one that the adapter was written for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from actors.sandbox import CallLimits, Sandbox
from harnesses.harness import CallEnd, Command, Program
from harnesses.jsonlines import last_line, tail
from stamina.errors import InputError, SandboxFault

ASK_SECONDS: Final = 120.0
_VERSION: Final = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-.+]?[0-9A-Za-z]+)*")


async def version_of(program: Program, sandbox: Sandbox, folder: Path) -> str:
    """The version of the CLI in this sandbox. Raises InputError when it is not there, or is not the one that is wanted; SandboxFault when it does not say
    in time, as on a machine with too much other work."""
    out, err = folder / "version.stdout", folder / "version.stderr"
    end = await sandbox.call(Command(program.ask), limits=CallLimits(ASK_SECONDS, output_bytes=1 << 16), stdout=out, stderr=err)
    if end.expired is not None:
        raise SandboxFault(f"`{' '.join(program.ask)}` does not tell a version of {program.harness} within {ASK_SECONDS:g} s: is the machine overloaded?")
    found = _VERSION.search(tail(out)) or _VERSION.search(tail(err))
    if found is None or end.exit_code != 0:
        raise InputError(_absent(program, end, last_line(tail(err)) or last_line(tail(out))))
    if program.version not in (None, found[0]):
        raise InputError(
            f"the sandbox has {program.harness} {found[0]}, wanted is {program.version}: have an image with that one, "
            f'or, if the other is meant, give the agent version = "{found[0]}"'
        )
    return found[0]


def _absent(program: Program, end: CallEnd, words: str) -> str:
    asked = " ".join(program.ask)
    if end.exit_code == 127:
        return f"the sandbox has no {program.ask[0]}: [sandbox] image must have {program.harness} in it, or leave image out"
    return f"`{asked}` does not tell a version of {program.harness} in the sandbox: exit code {end.exit_code}, {words or 'no output'}"


def check_drift(harness: str, before: str | None, now: str) -> None:
    """Raises InputError when a scenario was begun with another version: its turns would be two agents' work."""
    if before not in (None, now):
        raise InputError(
            f"this scenario was begun with {harness} {before}, and now its sandbox has {now}: results must not be mixed. Go back to the image with {before}, "
            "or begin a new run"
        )
