"""Checks documents of `stamina trajectories` with the models of the package `harbor` (Python 3.12 or newer; not among our requirements).

pip install pydantic && pip install --no-deps harbor && python scripts/atif_check.py RUN/atif/*.json runs/harnesses/transcripts/*.json
"""

from __future__ import annotations

import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory

for name in sys.argv[1:]:
    found = Trajectory.model_validate_json(Path(name).read_text())
    print(f"{name}: {found.schema_version}, {len(found.steps)} steps")
