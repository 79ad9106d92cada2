"""The options that say which scenarios a verb is about."""

from __future__ import annotations

from typing import Any

import click

from stamina.config.file import MAX_TURNS
from stamina.config.kinds import Seeds, Unexpected


class SeedsType(click.ParamType[tuple[int, ...]]):
    """``0-4`` or ``0,3,7-9``, as in a sweep file."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """A tuple of seeds."""
        try:
            return Seeds().read(value)
        except Unexpected as error:
            self.fail(str(error), param, ctx)


seeds_option = click.option("--seeds", type=SeedsType(), default="0", show_default=True, help="Such as 0-4 or 0,3,7-9.")
turns_option = click.option("--turns", type=click.IntRange(0, MAX_TURNS), default=100, show_default=True, help="N; turns 0 to N are made.")
