"""Every test works in a home of its own; nothing of the user's is read or written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

HOME = Path(tempfile.mkdtemp(prefix="workbench-tests-"))
os.environ["WORKBENCH_HOME"] = str(HOME)
