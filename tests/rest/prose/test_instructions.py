"""The instructions carry every rule that a test can rest on, in every language, and show nothing of the scenario."""

from __future__ import annotations

import re

import pytest

from stamina.domain import Language, Sampler, ScenarioOptions
from stamina.rest.prose import covered, instructions, opening, sentences

RULES = (
    *("S3", "S5", "S7", "S8", "S9"),
    *(f"H{number}" for number in range(1, 10)),
    *(f"V{number}" for number in range(1, 9)),
    *(f"D{number}" for number in range(1, 7)),
    *("A1", "A2", "A3"),
    *("B1", "B2", "B3", "B4"),
    *("L1", "L2", "L3"),
)
"""All rules that speak of what the agent or its server does; the others are about us."""

LANGUAGE_WORDS = {
    Language.PYTHON: "Python 3",
    Language.JAVASCRIPT: "Node.js",
    Language.RUST: "Cargo",
    Language.GO: "in Go",
    Language.ANY: "language of your choice",
}


@pytest.mark.parametrize("language", list(Language))
def test_every_rule_has_its_sentences_in_every_language(language: Language) -> None:
    """The first rule of the contract: what is tested is said."""
    text = instructions(ScenarioOptions(seed=1, language=language, start_seconds=180, answer_seconds=7))
    assert [rule for rule in RULES if not covered(text, rule)] == []


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_not_covered_when_one_of_its_sentences_is_missing(rule: str) -> None:
    """Coverage notices a text that has lost a line."""
    lines = instructions(ScenarioOptions(seed=1)).splitlines()
    carriers = sentences(rule)
    for carrier in carriers:
        start = carrier.split("$")[0]
        assert not covered("\n".join(line for line in lines if start not in line), rule)
    assert carriers


def test_an_unknown_rule_is_never_covered() -> None:
    """A case that rests on a rule without a sentence is noticed."""
    assert sentences("Z9") == ()
    assert not covered(instructions(ScenarioOptions(seed=1)), "Z9")


@pytest.mark.parametrize("language", list(Language))
def test_only_the_language_asked_for_is_named(language: Language) -> None:
    """The section on the language is that of the sweep."""
    text = instructions(ScenarioOptions(seed=1, language=language))
    assert [one for one, words in LANGUAGE_WORDS.items() if words in text] == [language]


def test_the_limits_are_those_of_the_scenario() -> None:
    """Both limits are stated, and no placeholder is left."""
    text = instructions(ScenarioOptions(seed=1, start_seconds=181, answer_seconds=13))
    assert "within 181 seconds" in text
    assert "within 13 seconds" in text
    assert "$" not in text
    assert "within 181 seconds" in opening(ScenarioOptions(seed=1, start_seconds=181))


def test_nothing_of_the_scenario_shows() -> None:
    """L4: seed, salt and sampler change no byte of what the agent reads."""
    plain, secret = ScenarioOptions(seed=1), ScenarioOptions(seed=987654, seed_salt="salt", changes_per_turn=9, sampler=Sampler.DIFFICULTY)
    assert instructions(plain) == instructions(secret)
    assert opening(plain) == opening(secret)


def test_every_point_stands_once() -> None:
    """No sentence is repeated, and every section has a title of its own."""
    lines = [line for line in instructions(ScenarioOptions(seed=1)).splitlines() if line]
    assert len(lines) == len(set(lines))


def test_the_statuses_of_an_action_come_in_their_order() -> None:
    """B1: 404, then 400, then 409."""
    text = instructions(ScenarioOptions(seed=1))
    section = text[text.index("## Actions") : text.index("## Conditions")]
    assert re.findall(r"\b4\d\d\b", section) == ["404", "400", "409"]
