"""A ledger that may not grow, as on a full disk: the service is not ready, and is again once there is room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.web.processes import environment

pytestmark = pytest.mark.engines

PROGRAM = """
import json, resource, signal, sys
from pathlib import Path
from crestline.config import load_config
from crestline.web.service_state import open_state

folder = Path(sys.argv[1])
state = open_state(load_config(folder / "crestline.toml"))
state.readiness._pause = 0.0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
found = [state.readiness.find()]
for most in ((folder / "ledger.db-wal").stat().st_size, resource.RLIM_INFINITY):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    found.append(state.readiness.find())
print(json.dumps(found))
"""


def test_a_service_whose_disk_is_full_is_not_ready(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment(),
    )  # fmt: skip
    before, full, after = json.loads(ended.stdout.splitlines()[-1])
    assert (before, after) == (None, None)
    assert "it may be full" in full
