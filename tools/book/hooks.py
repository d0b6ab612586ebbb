"""What MkDocs does beyond its settings: chapters from folders, pages from the repository's root, MathML."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # MkDocs loads this file by its path, not as a part of the package

from mkdocs.structure.files import File, Files  # noqa: E402
from mkdocs.utils import get_relative_url  # noqa: E402

from tools.book.linking import with_links  # noqa: E402
from tools.book.mathematics import with_mathml  # noqa: E402
from tools.book.navigation import HOME, navigation  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

# Pages of the repository's root that readers of the site want, too.
FROM_ROOT = {"SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
# Paths in tables: they may break behind a slash or an underline, so that other columns keep their width.
_CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
_CODE = re.compile(r"<code>[^<]*[/_][^<]*</code>")
# What a proof note says about the code it proves, and how a reader would like to see it.
_PROVES = re.compile(r"^(?:Proves: \S+\n)+", re.MULTILINE)
_FINGERPRINTS = re.compile(r"\n<!-- Fingerprints\n.*?-->\n", re.DOTALL)
# Pages that are one wide table.
WIDE = ("reference/theorems.md", "errata.md", "reference/vectors.md")
_GENERATED_NOTE = re.compile(r"\A<!--.*?-->\n+", re.DOTALL)  # before it MkDocs does not see the title
_LINK = re.compile(r"(\]\()([^)\s#]+)")
# `python no-run` is a word to tests/docs/test_examples.py, and no language that a highlighter knows.
_MARKED_FENCE = re.compile(r"^(```\w+) no-run$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation(Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, place in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between a page and the files of the root lead to the pages that the site has of them."""
    here = page.file.src_uri
    root = next((name for name, place in FROM_ROOT.items() if place == here), None)
    written = posixpath.join("docs", here) if root is None else root
    if here in WIDE:
        page.meta["hide"] = ["toc"]
    if here == HOME:
        page.meta["hide"] = ["toc", "navigation"]
    markdown = _PROVES.sub(_proven, _FINGERPRINTS.sub("", markdown))
    markdown = _GENERATED_NOTE.sub("", _MARKED_FENCE.sub(r"\1", markdown))
    return _LINK.sub(lambda found: found[1] + _target(found[2], written, here), markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    html = _CELL.sub(lambda cell: _CODE.sub(_breakable, cell[0]), with_mathml(html))

    def address(place: str) -> str:
        found = files.get_file_from_path(place)
        assert found is not None, f"{place} is not a page of the site"
        return get_relative_url(found.url, page.url)

    html = with_links(html, page.file.src_uri, address)
    kind = "mathematics" if page.file.src_uri.startswith("proofs/") else "wide" if page.file.src_uri in WIDE else ""
    return f'<div class="{kind}">{html}</div>' if kind else html


def _proven(lines: re.Match[str]) -> str:
    paths = ", ".join(f"`{line.split()[1]}`" for line in lines[0].splitlines())
    return f"*Proves the code as it is today of* {paths}.\n"


def _breakable(code: re.Match[str]) -> str:
    inside = code[0].removeprefix("<code>").removesuffix("</code>")
    return "<code>" + re.sub(r"([/_])", r"\1<wbr>", inside) + "</code>"


def _target(link: str, written: str, here: str) -> str:
    """Where a link of the repository leads on the site; other links stay as they are."""
    if "://" in link or link.startswith("mailto:"):
        return link
    path = posixpath.normpath(posixpath.join(posixpath.dirname(written), link))
    place = FROM_ROOT.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
    if place is None or (place == path and written.startswith("docs/")):
        return link
    if (ROOT / "docs" / place).is_dir():  # a folder is its first page, where it has one
        inside = ROOT / "docs" / place
        place = posixpath.join(
            place,
            "README.md" if (inside / "README.md").exists() else sorted(one.name for one in inside.glob("*.md"))[0],
        )
    return posixpath.relpath(place, posixpath.dirname(here) or ".")
