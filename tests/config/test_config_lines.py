"""The locator of TOML keys."""

from collections.abc import Iterator
from typing import Any

import tomli
from hypothesis import given
from hypothesis import strategies as st

from stamina.config.dump import dumps
from stamina.config.lines import KeyPath, key_lines, line_of

TRICKY = '''# a comment = [not, a, key]
title = "a # in a string [x]"

[a]   # table
plain = 1
"quoted key" = 'lit\\'
dotted.inner = true
list = [ # comment ]
  1,
  { x = 1, y = "}" },
]
text = """
[not.a.table]
fake = 1 \\"""
"""
raw = \'\'\'
[[neither]]\'\'\'

[[b]]
one = 1
[b.sub]
two = 2

[[b]]
one = 3
[[b.deep]]
x = 1
[[b.deep]]
x = 2
'''


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every path in a document, as tomli understands it."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield from paths(inner, (*path, step))


def test_finds_each_key_on_its_own_line() -> None:
    """Strings, comments and brackets in values do not lead it astray."""
    lines = key_lines(TRICKY)

    def text(path: KeyPath) -> str:
        return TRICKY.splitlines()[lines[path] - 1].strip()

    assert text(("title",)).startswith("title")
    assert text(("a", "quoted key")).startswith('"quoted key"')
    assert text(("a", "dotted", "inner")) == "dotted.inner = true"
    assert text(("a", "list", 0)) == "1,"
    assert text(("a", "list", 1, "y")).startswith("{ x = 1")
    assert text(("b", 0, "sub", "two")) == "two = 2"
    assert text(("b", 1, "one")) == "one = 3"
    assert text(("b", 1, "deep", 1, "x")) == "x = 2"


def test_finds_exactly_the_paths_that_tomli_finds() -> None:
    """Nothing is missed and nothing is invented."""
    assert set(key_lines(TRICKY)) == set(paths(tomli.loads(TRICKY)))


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.text(st.characters(codec="utf-8"), max_size=9), st.floats(allow_nan=False))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


@given(DOCUMENTS)
def test_agrees_with_tomli_on_any_document(document: dict[str, Any]) -> None:
    """For every document that the writer can write, the same paths, each on a line that holds its key."""
    text = dumps(document)

    assert set(key_lines(text)) == set(paths(tomli.loads(text)))


@given(DOCUMENTS)
def test_what_is_written_reads_back(document: dict[str, Any]) -> None:
    """The writer loses nothing."""
    assert document == tomli.loads(dumps(document))


def test_a_missing_key_has_the_line_of_its_table() -> None:
    """That is where the author has to add it."""
    lines = key_lines("[a]\nx = 1\n\n[b]\ny = 2\n")

    assert line_of(lines, ("b", "z")) == 4
    assert line_of(lines, ("c", "z")) is None
