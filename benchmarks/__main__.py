"""Every table of docs/results/performance.md, in one run.

    python -m benchmarks [--only NAME …] [--quick] [--render] [--folder docs/results]

`--quick` is a smoke test: it measures almost nothing, and writes to a temporary folder unless one is named. Peers are
installed into environments of their own on first use (see `benchmarks/peers.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.machine import described
from benchmarks.measuring import human
from benchmarks.page import TABLES, render

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"


def run(name: str, folder: Path, quick: bool) -> None:
    """Measure one table and keep its figures; those that came before a failure are kept too."""
    machine, start = described(), time.perf_counter()
    rows: list[dict[str, Any]] = []
    try:
        for row in TABLES[name].measure(quick):
            rows.append(row.json())
            took = row.note or ("" if row.median is None else human(row.median))
            print(f"  {name}: {row.who} {row.setting} {took}", file=sys.stderr, flush=True)
    finally:
        keep(name, folder, {"machine": machine, "seconds": time.perf_counter() - start, "rows": rows})


def keep(name: str, folder: Path, figures: dict[str, Any]) -> None:
    """Write what was measured beside the page."""
    target = folder / "performance"
    target.mkdir(parents=True, exist_ok=True)
    kept = {"command": f"python -m benchmarks --only {name}", **figures}
    (target / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--render", action="store_true", help="measure nothing; make the page from kept figures")
    parser.add_argument("--folder", type=Path, default=None, help="where results go")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder or (Path(tempfile.mkdtemp(prefix="crestline-bench-")) if chosen.quick else RESULTS)
    failed = []
    for name in [] if chosen.render else chosen.only:
        try:
            run(name, folder, chosen.quick)
        except Exception:  # one table that fails must not cost the others
            traceback.print_exc()
            failed.append(name)
    print(render(folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
