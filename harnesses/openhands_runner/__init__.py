"""OpenHands over many turns: a runner on its SDK. Its own CLI exits with 0 whatever happened, begins by fetching from the network, and runs an
interrupted command once more when it is continued.

It runs inside the agent's container, installed beside the SDK, and so imports nothing of ours. The agent is the SDK's default one in CLI mode, with its
tools, condenser and stuck detector.
"""
