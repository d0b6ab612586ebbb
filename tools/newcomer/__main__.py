"""Types in every page.

scripts/newcomer                      builds the wheel, and types in every page, each in an empty folder
scripts/newcomer docs/tutorial/budgets.md …    only these
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tools.newcomer.fresh import environment, run
from tools.newcomer.pages import ROOT, blocks, pages, silent

TYPIST = Path(__file__).with_name("typist.py")


def typed_in(page: Path, programs: Path, folder: Path) -> int:
    """Type in a page in a folder; the number of its blocks."""
    found = blocks(page.read_text(encoding="utf-8"))
    text = json.dumps([(block.kind, block.code) for block in found])
    if found:
        run([str(programs / "python"), str(TYPIST)], folder, text=text, programs=programs)
    return len(found)


def main(arguments: list[str]) -> int:
    wanted = [Path(name).resolve() for name in arguments] or pages()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="newcomer-") as place:
        programs = environment(Path(place))
        for page in wanted:
            name, start = page.relative_to(ROOT), time.monotonic()
            with tempfile.TemporaryDirectory(prefix="newcomer-page-") as folder:
                try:
                    number = typed_in(page, programs, Path(folder))
                except RuntimeError as error:
                    wrong += 1
                    print(f"FAILED  {name}\n{error}")
                    continue
            unexplained = silent(page.read_text(encoding="utf-8"))
            wrong += bool(unexplained)
            remark = f"; {len(unexplained)} left out without a reason" if unexplained else ""
            print(f"{number:3d} blocks  {name}  {time.monotonic() - start:.1f} s{remark}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
