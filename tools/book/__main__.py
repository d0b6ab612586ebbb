"""Build the site.

python -m tools.book              into site/; fails on any warning, a link or an anchor that leads nowhere among them
python -m tools.book FOLDER       into another folder
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path) -> None:
    """Build the whole site into a folder; raises when anything is amiss."""
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config

    mkdocs_build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))


def main(arguments: Sequence[str]) -> int:
    import logging

    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    folder = Path(arguments[0]) if arguments else ROOT / "site"
    try:
        build(folder)
    except Abort as found:
        print(found.message if hasattr(found, "message") else found)
        return 1
    print(f"built {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
