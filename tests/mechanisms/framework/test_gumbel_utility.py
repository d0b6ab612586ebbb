"""The point of it all: how many items come back on real check-in data, at equal (ε, δ)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.randomness.entropy import replay

NAME = "FOURSQUARE_NYC_TKY_RECON.counts.parquet"
ROOT = Path(__file__).resolve().parents[3]
PLACES = [folder / "shared" / "data" / NAME for folder in (ROOT.parent, ROOT.parent.parent)]
DATA = next((place for place in PLACES if place.exists()), None)
USERS, TRIALS = 2293, 300


@pytest.mark.statistics
@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason=f"{NAME} is not in a folder shared/data beside the repository")
@pytest.mark.parametrize(("k", "epsilon", "wanted"), [(100, "1", 72), (50, "0.4", 27), (100, "0.4", 18)])
def test_check_ins_come_back_at_least_twice_as_often_as_published(k: int, epsilon: str, wanted: float) -> None:
    """The published mechanism with the published accountant returns about 36, 12 and 8 (benchmarks/utility.py)."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(DATA)
    counts = zip(table["element"].to_pylist(), table["count"].to_pylist(), strict=True)
    delta = Fraction(1, 2 * USERS)
    mechanism = RestrictedGumbel.for_budget(k=k, k_bar=10 * k, epsilon=epsilon, delta=delta)
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert promise.epsilon <= Fraction(epsilon)
    assert promise.delta <= delta
    drawn = mechanism.release_many(Histogram.from_counts(counts, 10 * k), TRIALS, replay("utility"))
    assert np.mean([len(selection) for selection in drawn]) >= wanted
