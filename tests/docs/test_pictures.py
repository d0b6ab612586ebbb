"""The pictures of the docs are what the code says, every page that shows one finds it, and none lies about unused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


@pytest.mark.full
@pytest.mark.slow
def test_pictures_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "pictures.py")]
    checked = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_is_small_and_has_a_background_of_its_own(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert re.search('fill="(white|#ffffff)"', text)  # readable on a dark page too
    assert len(text) < 60_000


def test_every_picture_is_shown_on_a_page() -> None:
    shown = {
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"!\[[^\]]+\]\([^)]*pictures/([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert shown == {picture.name for picture in PICTURES}
