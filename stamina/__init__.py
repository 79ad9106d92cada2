"""The benchmark itself: what is asked of an agent, and how it is judged. Pure: no loop, no clock, no I/O outside ``cli`` and ``report``."""
