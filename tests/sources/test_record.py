"""What `crestline sources` says of an engine is what is tested."""

from __future__ import annotations

import pytest

from crestline.sources.engine.dialects.engine_record import recorded_runs
from crestline.sources.engine.engine_functions import RECORDS
from crestline.sources.support_table import SUPPORTED
from tests.sources.gaps import GAPS

# Not written down yet, so that `crestline sources` leaves their figures out: run scripts/engines.py with the name.
NOT_RECORDED: set[str] = set()


def test_every_engine_was_run_and_is_listed() -> None:
    assert set(RECORDS) == set(GAPS)
    assert set(recorded_runs()) == set(RECORDS) - NOT_RECORDED
    assert {line.engine for line in SUPPORTED} - {None} == set(RECORDS)


@pytest.mark.parametrize("engine", sorted(set(GAPS) - NOT_RECORDED))
def test_the_record_has_the_gaps_of_today(engine: str) -> None:
    """Run scripts/engines.py with the name of the engine after a gap was closed or found."""
    run = recorded_runs()[engine]
    assert list(run.gaps) == list(GAPS[engine])
    assert bool(run.gaps) == bool(run.missing)
    assert run.passed > 100
    assert run.version[0].isdigit()
