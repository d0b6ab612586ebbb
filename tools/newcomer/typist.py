"""Types in the blocks of one page: a program for the fresh environment, which reads the blocks from standard input."""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> int:
    names: dict[str, object] = {"__name__": "__main__"}
    for number, (kind, code) in enumerate(json.load(sys.stdin), start=1):
        if kind == "python":
            exec(compile(code, f"block {number}", "exec"), names)  # of our own pages
            continue
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=False)
        if done.returncode:
            print(f"block {number} ended with {done.returncode}:\n{code}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
