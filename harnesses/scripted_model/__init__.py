"""A model of our own: it answers in every protocol of the gateway as a coder who reads the text, is competent or makes mistakes, and fails as a script says.

Pure: requests come in as bytes, answers go out as bytes; no loop, no clock, no network. :mod:`actors.gateway.scripted` makes an upstream of it. What it knows
of a scenario it keeps as files in the agent's workspace, as a real agent re-reads its own code and notes, so that it survives compaction of the conversation,
a new session, a resumed sweep and a restored snapshot; what the orchestrator's process remembers is only a cache of those files, and the work at hand.
"""
