"""Reads the texts that the agent is handed back into states and changes, by the grammar of ``docs/language.md`` and nothing else.

That it can be done without loss is how we know that the texts are complete. No part of the benchmark rests on it.
"""

from stamina.rest.reading.requests import read_change, read_request
from stamina.rest.reading.specification import read_specification

__all__ = ["read_change", "read_request", "read_specification"]
