"""Write the report.

python -m reproduction.report              docs/report/README.md, from the template and the numbers of today
python -m reproduction.report --check      fails when the page is not what the template and the numbers say
python -m reproduction.report --pdf FILE   prints the page of the built site (needs chromium)
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reproduction.report.figures import ROOT, figures

NOTE = "<!-- Written by `python -m reproduction.report`; do not edit. -->\n\n"
TEMPLATE = Path(__file__).with_name("template.md")
PAGE = ROOT / "docs" / "report" / "README.md"
_NAME = re.compile(r"\{\{([\w.]+)\}\}")


def report() -> str:
    """The page: the template with every name replaced by what it stands for."""
    known = figures()
    text = TEMPLATE.read_text(encoding="utf-8")
    return NOTE + _NAME.sub(lambda found: known[found[1]]().rstrip("\n"), text)


def print_pdf(target: Path) -> None:
    """The report's page of the site, printed by a browser."""
    import shutil

    from playwright.sync_api import sync_playwright

    from tools.book.__main__ import build

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        build(Path(folder))
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        page.goto((Path(folder) / "report" / "index.html").as_uri())
        page.pdf(
            path=str(target), format="A4", margin={"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
        )
        browser.close()


def main(arguments: Sequence[str]) -> int:
    if "--pdf" in arguments:
        print_pdf(Path(arguments[arguments.index("--pdf") + 1]))
        return 0
    made = report()
    if "--check" in arguments:
        fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == made
        sys.stdout.write("" if fresh else "docs/report is not what the results say: python -m reproduction.report\n")
        return 0 if fresh else 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(made, encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
