"""The benchmark itself: what is asked of an agent, and how it is judged. Pure: no loop, no clock, no I/O outside ``cli`` and ``report``."""

from typing import Final

__version__: Final = "0.1.0"
"""Of the package, as in pyproject.toml; it is part of a run's identity."""
