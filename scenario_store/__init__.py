"""Where scenarios and runs are kept: formats, versions, atomicity."""
