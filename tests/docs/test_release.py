"""What a release says about itself is one thing: version, lower bounds, Pythons, pages."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
with (ROOT / "pyproject.toml").open("rb") as _file:
    PROJECT: dict[str, Any] = tomllib.load(_file)["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def bounds() -> dict[str, str]:
    """The lower bound of every dependency of crestline and of its extras, `dev` left out."""
    extras = (some for name, some in PROJECT["optional-dependencies"].items() if name != "dev")
    stated = [*PROJECT["dependencies"], *(one for some in extras for one in some)]
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)(?:,<\d+)?", one) for one in stated]
    assert all(found), stated
    return {match[1]: match[2] for match in found if match}


def oldest() -> dict[str, str]:
    text = (ROOT / "constraints" / "oldest.txt").read_text()
    return dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))


def numbers(version: str) -> list[int]:
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    tested = {name: numbers(version) for name, version in oldest().items()}
    assert tested == {name: numbers(version) for name, version in bounds().items()}


def test_the_citation_has_the_version_and_the_address() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert citation["license"] == PROJECT["license"]


def test_the_version_is_supported() -> None:
    major, minor, _ = PROJECT["version"].split(".")
    assert f"| {major}.{minor}.x | yes |" in (ROOT / "SECURITY.md").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_commands_that_exist(path: Path) -> None:
    text = path.read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs
    for script in re.findall(r"scripts/[\w-]+", text):
        assert os.access(ROOT / script, os.X_OK), script
    for test in re.findall(r"tests/[\w/]+\.py", text):
        assert (ROOT / test).exists(), test


def test_every_stated_python_is_tested() -> None:
    stated = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    tested = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    assert tested["jobs"]["check"]["strategy"]["matrix"]["python"] == stated
    assert PROJECT["requires-python"] == f">={stated[0]}"


def test_a_release_is_published_without_a_password() -> None:
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "password" not in (ROOT / ".github" / "workflows" / "release.yml").read_text().split("\n", 1)[1]
