"""What may be a name (contract S5)."""

from __future__ import annotations

import re
from typing import Final

RESERVED_SEGMENTS: Final = frozenset(["analytics", "reset", "docs", "redoc", "openapi", "static", "health"])

RESERVED_NAMES: Final = frozenset(["id", "this", "item", "count", "sum", "any", "all", "and", "null", "true", "false", "constructor", "prototype"])

_PYTHON = (
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal "
    "not or pass raise return try while with yield"
)
_JAVASCRIPT = (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import "
    "in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield"
)
_RUST = (
    "Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro match "
    "mod move mut override priv pub ref return self static struct super trait true try type typeof unsafe unsized use virtual where while yield"
)
_GO = (
    "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var"
)

KEYWORDS: Final = frozenset(" ".join((_PYTHON, _JAVASCRIPT, _RUST, _GO)).split())
"""The keywords of Python, JavaScript, Rust and Go, those kept for the future included."""

_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*")


def name_problem(name: str) -> str | None:
    """Why this cannot be the name of a field, an action or an enum value; None when it can."""
    if name in RESERVED_NAMES or name in KEYWORDS or name.startswith("model_"):
        return f"{name!r} is a reserved name"
    return None if _SNAKE.fullmatch(name) else f"{name!r} is not in snake_case"


def type_name_problem(name: str) -> str | None:
    """Why this cannot be the name of an entity or an enum type; None when it can."""
    if name in KEYWORDS:
        return f"{name!r} is a reserved name"
    return None if _PASCAL.fullmatch(name) else f"{name!r} is not in PascalCase"


def segment_problem(name: str) -> str | None:
    """Why an entity of this name cannot have its path segment; None when it can."""
    return f"the path segment {name.lower()!r} is reserved" if name.lower() in RESERVED_SEGMENTS else None
