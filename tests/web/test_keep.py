"""`keep = true`: a copy is made when the service starts, of a stated version, within its limit."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from crestline.config import load_config
from crestline.errors import ParameterError
from crestline.question import Question
from crestline.serving import ServedSource
from crestline.sources.memory_copy import CachedSource
from crestline.sources.pool import Pool
from crestline.web.permissions import Caller, ask_as_json
from crestline.web.service_state import ServiceState, open_state

CONFIG = """\
ledger = "ledger.db"
[datasets.loans]
source = "loans.csv"
user = "user"
items = ["item"]
filters = ["country"]
{settings}
budget = {{ epsilon = 10, delta = 1e-3 }}
[analysts.ann.budgets]
loans = {{ epsilon = 10, delta = 1e-3 }}
[analysts.olga]
role = "owner"
"""
DATA = "user,item,country\n" + "".join(f"u{n},{item},DE\n" for n in range(600) for item in ("Rivers", "Bridges"))


def opened(folder: Path, settings: str, *, copies: bool = True, data: str = DATA) -> ServiceState:
    (folder / "loans.csv").write_text(data)
    (folder / "crestline.toml").write_text(CONFIG.format(settings=settings))
    return open_state(load_config(folder / "crestline.toml"), copies=copies)


def source_of(state: ServiceState) -> object:
    served = state.datasets["loans"].source
    assert isinstance(served, ServedSource)
    return served.inner


@pytest.mark.long
def test_questions_are_answered_from_the_copy(tmp_path: Path) -> None:
    state = opened(tmp_path, 'version = "1"\nkeep = true')
    assert isinstance(source_of(state), CachedSource)
    (tmp_path / "loans.csv").write_text("user,item,country\n")  # nobody would be named any more
    caller, question = Caller(state.config.analysts["ann"], "1"), {"k": 2, "item": "item", "where": "country = 'DE'"}
    asked = Question.from_fields({**question, "epsilon": 4, "delta": "1e-5"})  # type: ignore[typeddict-item] # spelled out above
    body = ask_as_json(state.datasets["loans"], caller, asked, state.config.limits)
    assert sorted(body["items"]) == ["Bridges", "Rivers"]
    state.close()


def test_a_check_reads_no_rows(tmp_path: Path) -> None:
    state = opened(tmp_path, 'version = "1"\nkeep = true', copies=False)
    assert isinstance(source_of(state), Pool)
    state.close()


@pytest.mark.long
def test_a_copy_that_does_not_fit_is_reported_to_the_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    many = DATA + DATA.partition("\n")[2] * 50  # more than the one MiB that a copy may take
    with caplog.at_level(logging.WARNING, "crestline.service"):
        state = opened(tmp_path, 'version = "1"\nkeep = true\nkeep_limit = 1', data=many)
    assert isinstance(source_of(state), Pool)
    assert "loans is not kept in memory" in caplog.text
    state.close()


def test_a_copy_needs_a_version(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"toml:7: datasets\.loans\.keep needs a version"):
        opened(tmp_path, "keep = true")


def test_keep_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="keep must be true or false"):
        opened(tmp_path, 'version = "1"\nkeep = "yes"')
