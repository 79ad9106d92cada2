"""``README.md`` for the agent: every rule that a test can rest on, in plain words."""

from __future__ import annotations

from stamina.domain import ScenarioOptions
from stamina.rest.prose import guide_data, guide_http, guide_logic
from stamina.rest.prose.guide_language import language_section
from stamina.rest.prose.sentences import Section, carrying

_TITLE = "# A REST API server that grows"

_INTRO = (
    "You write an HTTP server for a JSON REST API and keep it in step with changing requirements. This file holds the rules that apply to every "
    "version of the API."
)

_FIRST = (guide_http.WORK, guide_http.SERVER)

_RULES = (
    guide_http.HTTP,
    guide_http.OBJECTS,
    guide_http.IDS,
    guide_data.TYPES,
    guide_data.VALIDATION,
    guide_data.OMISSION,
    guide_data.REFERENCES,
    guide_logic.ANALYTICS,
    guide_logic.ACTIONS,
    guide_logic.CONDITIONS,
    guide_logic.EFFECTS,
    guide_data.CHANGES,
    guide_data.REMOVED,
    guide_logic.OPEN,
    guide_logic.ADVICE,
)


def instructions(options: ScenarioOptions) -> str:
    """The instructions for ``options``; seed and salt leave no trace in them (L4)."""
    sections = (*_FIRST, language_section(options.language), *_RULES)
    return "\n\n".join([_TITLE, _INTRO, *(_section_text(section, options) for section in sections)]) + "\n"


def sentences(rule: str) -> tuple[str, ...]:
    """The sentences of the instructions that carry ``rule``, as templates (``$answer_seconds``); empty when none does."""
    return tuple(sentence.text for sentence in carrying(_FIRST + _RULES, rule))


def covered(text: str, rule: str) -> bool:
    """Whether ``text`` (all that an agent was handed) holds every sentence that carries ``rule``, and there is one."""
    carriers = list(carrying(_FIRST + _RULES, rule))
    return bool(carriers) and all(sentence.occurs_in(text) for sentence in carriers)


def _section_text(section: Section, options: ScenarioOptions) -> str:
    head = [f"## {section.title}", *([section.intro] if section.intro else [])]
    bullets = "\n".join(f"- {sentence.render(options)}" for sentence in section.sentences)
    return "\n\n".join([*head, bullets])
