"""Tables and machine-readable results."""
