"""From verdicts to the paper's numbers."""
