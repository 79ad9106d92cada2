"""A coding agent without a model: it reads the text that it is given and writes a server.

A program of its own, of nothing but the standard library: it runs in a sandbox that knows nothing of this repository, as one file that
:mod:`harnesses.reference` packs from this folder. It shares no code with the benchmark; its own reading of the text is the point.
"""
