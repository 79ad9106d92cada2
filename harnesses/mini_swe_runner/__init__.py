"""mini-swe-agent over many turns: a runner on its Python API, because ``mini`` itself forgets the conversation when it ends.

It runs inside the agent's container, installed beside mini-swe-agent, and so imports nothing of ours. What it adds to the published agent: the conversation is
kept on disk, its old part is summarised when it grows too long (as the paper's modified Mini-SWE does), and what happens is told as JSON lines on stdout.
"""
