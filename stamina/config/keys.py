"""Keys of the sweep file's tables."""

from __future__ import annotations

from typing import Any

import attrs


def key(doc: str, default: Any = attrs.NOTHING, *, written: str | None = None) -> Any:
    """A key of a table; without a default it must be there. ``written`` is the default as the file would have it, where that differs."""
    return attrs.field(default=default, metadata={"doc": doc, "written": written})
