"""How one kind of coding agent is started, told what to do, and read."""
