"""Wall and processor time of a command and of all processes below it, servers that detach from it included.

    python -m tools.cost make test

Linux only. This process adopts every process whose parent ends, and waits for it: PostgreSQL, Java and browsers are
counted once they have ended. A process that still runs a minute after the command is named, counted so far, and left.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_PATIENCE = 60.0


def measure(command: list[str], patience: float = _PATIENCE) -> tuple[int, float, float, list[str]]:
    """Run a command.

    Returns:
        Its exit status, seconds of wall time, seconds of processor time, and the processes that it has left running.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt processes")
    before, start = _processor_seconds(), time.monotonic()
    started = subprocess.Popen(command)
    status = None
    while status is None:  # children of others come and go meanwhile
        ended, code = os.wait()
        if ended == started.pid:
            status = started.returncode = os.waitstatus_to_exitcode(code)
    wall = time.monotonic() - start
    end = time.monotonic() + patience
    while time.monotonic() < end and _reap():
        time.sleep(0.05)
    left = [pid for pid in _descendants(os.getpid()) if pid != os.getpid()]
    spent = _processor_seconds() - before + sum(map(_seconds_so_far, left))
    return status, wall, spent, [f"{pid} {_name(pid)}" for pid in left]


def _reap() -> bool:
    """Wait for every child that has ended; whether there are others."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not ended:
            return True


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _descendants(pid: int) -> list[int]:
    try:
        below = [int(one) for path in Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in below for one in _descendants(child))]


def _seconds_so_far(pid: int) -> float:
    """Processor time of a running process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80]
    except OSError:
        return ""


def main(command: list[str]) -> int:
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    status, wall, spent, left = measure(command)
    print(f"{wall:.0f} s of wall time, {spent:.0f} s of processor time, exit status {status}", file=sys.stderr)
    for process in left:
        print(f"still running: {process}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
