"""Commands of crestline in processes that are forked from one which has imported it already.

    python -m tests.web.forking

Reads a line of JSON a request from standard input and answers each with one: `start` forks a process that runs the
command line with its output in a file, and `status` gives the exit code of one that has ended (of one that was killed,
the number of the signal below zero, as `subprocess` does), or null. It has one thread and has opened nothing, so a
forked process differs from one that was started by what it need not import. It ends with its standard input.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# The last are imported on first use: by the program, by Ibis and by uvicorn.
_IMPORTED = (
    *("crestline.cli.main", "crestline.web.server", "crestline.prepare", "crestline.sources"),
    *("ibis.backends.duckdb", "ibis.backends.postgres", "psycopg", "scipy.stats", "sqlite3"),
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl"),
)


class Forked:
    """A process of the command `crestline`: what the tests need of `subprocess.Popen`."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self.pid: int = _asked({"start": arguments, "log": str(log)})
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = _asked({"status": self.pid})
        return self._code

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise TimeoutError("the process does not end")
            time.sleep(0.02)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)  # until its status is asked for, no other process has its number


_turn = threading.Lock()
_parent: subprocess.Popen[str] | None = None


def _asked(request: dict[str, Any]) -> Any:
    """What the process that forks answers; it is started on first use, and ends with this one."""
    global _parent
    with _turn:
        if _parent is None:
            known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
            command = [sys.executable, "-m", "tests.web.forking"]
            _parent = subprocess.Popen(command, env=known, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            atexit.register(_parent.communicate)
        assert _parent.stdin is not None
        assert _parent.stdout is not None
        _parent.stdin.write(json.dumps(request) + "\n")
        _parent.stdin.flush()
        return json.loads(_parent.stdout.readline())


def _start(arguments: list[str], log: str) -> int:
    """Fork a process that runs the command; its number."""
    process = os.fork()
    if process:
        return process
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, own in ((0, nothing), (1, out), (2, out)):
        os.dup2(own, number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["crestline", *arguments]
    from crestline.cli.main import main

    main()
    sys.exit()


def _status(process: int) -> int | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def serve_requests() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key that ends the tests is for them
    for name in _IMPORTED:
        import_module(name)
    gc.freeze()  # a collection would copy the pages of every object
    for line in sys.stdin:
        request = json.loads(line)
        found = _start(request["start"], request["log"]) if "start" in request else _status(request["status"])
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    serve_requests()
