"""Which sentence of the instructions carries which rule of the contract.

The instructions are built from these sentences and from nothing else, so the two cannot drift apart. A test of ours asserts for each case that
:func:`covered` holds for each rule it rests on: a test may only expect what the text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import Template

import attrs

from stamina.domain import ScenarioOptions


@attrs.frozen
class Sentence:
    """A point of the instructions.

    Attributes:
        text: one bullet, in Markdown; ``$start_seconds`` and ``$answer_seconds`` stand for the limits of the scenario.
        rules: the contract rules that it carries, such as ``("V3",)``; empty for advice.
    """

    text: str
    rules: tuple[str, ...] = ()

    def render(self, options: ScenarioOptions) -> str:
        """The text with the limits of ``options``."""
        return Template(self.text).substitute(start_seconds=options.start_seconds, answer_seconds=options.answer_seconds)

    def occurs_in(self, text: str) -> bool:
        """Whether ``text`` holds this sentence, whatever the limits in it are."""
        return self._pattern.search(text) is not None

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _pattern(self.text)


@attrs.frozen
class Section:
    """A titled part of the instructions: an optional paragraph that introduces it, then one bullet a sentence."""

    title: str
    sentences: tuple[Sentence, ...]
    intro: str = ""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    pieces = re.split(r"\$(?:start|answer)_seconds", text)
    return re.compile(r"\d+".join(re.escape(piece) for piece in pieces))


def carrying(sections: tuple[Section, ...], rule: str) -> Iterator[Sentence]:
    """The sentences of ``sections`` that carry ``rule``, in their order."""
    return (sentence for section in sections for sentence in section.sentences if rule in sentence.rules)
