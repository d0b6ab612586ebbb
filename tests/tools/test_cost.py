"""Wall and processor time of a command and of all processes below it."""

from __future__ import annotations

import re
import subprocess
import sys

DETACHED = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        end = time.process_time() + 1
        while time.process_time() < end:
            pass
    os._exit(0)
sys.exit(3)
"""


def test_a_process_that_detaches_is_counted() -> None:
    command = [sys.executable, "-m", "tools.cost", sys.executable, "-c", DETACHED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    found = re.fullmatch(r"\d+ s of wall time, (\d+) s of processor time, exit status 3\n", done.stderr)
    assert found, done.stderr
    assert 1 <= int(found[1]) <= 2
