"""`python -m tools.mutation`, in the folder of a checkout; see run.py."""

from __future__ import annotations

import sys

from tools.mutation.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
