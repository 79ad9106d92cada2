"""The model gateway: the one way from an agent to its model. Keys, usage, money, rate limits and liveness live here, the same for every harness."""
