"""Golden outputs: what every mechanism released, and how questions and answers were written, before names changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import goldens
from tests.audit.ours import NAMES

GOLDEN = json.loads(goldens.STORED.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_releases_what_it_released(name: str) -> None:
    assert goldens.releases(name) == GOLDEN["releases"][name]


@pytest.mark.slow
def test_questions_have_the_identity_they_had(tmp_path: Path) -> None:
    assert goldens.identities(tmp_path) == GOLDEN["identities"]


@pytest.mark.slow
def test_answers_are_written_as_they_were(tmp_path: Path) -> None:
    assert goldens.answers(tmp_path) == GOLDEN["answers"]
