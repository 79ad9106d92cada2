"""The text that an agent is handed (contract, first rule); its grammar is documented in ``docs/language.md``."""

from stamina.rest.prose.changes import change_headline, describe_change
from stamina.rest.prose.feedback import feedback
from stamina.rest.prose.instructions import covered, instructions, sentences
from stamina.rest.prose.requests import change_request, opening
from stamina.rest.prose.specification import specification

__all__ = ["change_headline", "change_request", "covered", "describe_change", "feedback", "instructions", "opening", "sentences", "specification"]
