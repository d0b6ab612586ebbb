"""`python -m reproduction` in the folder of a checkout: the same as `crestline reproduce`."""

from __future__ import annotations

import sys

from crestline.cli.main import run

if __name__ == "__main__":  # a worker process imports this module, too
    sys.exit(run(["reproduce", *sys.argv[1:]]))
