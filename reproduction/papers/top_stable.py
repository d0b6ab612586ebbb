"""[TS]: top-k by stability against LimitedDomain on Gowalla, BrightKite and Foursquare (tables 2–4, figure 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.prepare import prepare
from crestline.question import Limits, Question
from reproduction.as_published import LimitedAsCoded, StableAsCoded, durfee_rogers, per_step_scan
from reproduction.experiment import Cell, Check, Contest, Estimate, Experiment, Paper, Results
from reproduction.metrics import estimate
from reproduction.papers import top_stable_grid as grid
from reproduction.papers.top_stable_page import page
from reproduction.published import Published
from reproduction.simulate import Make, simulated, spread


def _budget(one: Cell) -> dict[str, Any]:
    return {"k": one.k, "epsilon": one.epsilon, "delta": one.delta}


def _paper_limited(one: Cell) -> OptimalThreshold:
    """The paper's accountant and split of δ, with k_bar chosen as P3.5 says (E-A7)."""
    half = one.delta / 2
    step = per_step_scan(durfee_rogers, one.k + 1, float(one.epsilon), float(half))
    return OptimalThreshold(one.k, 5 * one.k, step, half, slack=half)


LINES: Mapping[str, Make] = {
    grid.TS_CODE: lambda one: StableAsCoded(one.k, float(one.epsilon), float(one.delta)),
    grid.LD_CODE: lambda one: LimitedAsCoded(one.k, float(one.epsilon), float(one.delta)),
    grid.TS_PRIVATE: lambda one: TopStable(one.k, one.k, one.epsilon, one.delta, "0.37", "laplace"),  # P6.1
    grid.LD_PRIVATE: _paper_limited,
    grid.OUR_TS: lambda one: TopStable.for_budget(k_bar=one.k, **_budget(one)),
    grid.OUR_LD: lambda one: OptimalThreshold.for_budget(k_bar=5 * one.k, **_budget(one)),
    grid.AUTO: lambda one: prepare(Question(**_budget(one)), limits=Limits(views=("slots",))).mechanism,
}


def as_printed(ranks: Sequence[Sequence[int]], counts: NDArray[np.int64], k: int) -> Mapping[str, Estimate]:
    """P as the authors count it: the item of rank k + 1 is a hit as well."""
    hits = np.array([sum(rank <= k for rank in row) for row in ranks], dtype=np.float64)
    return {"printed_p": estimate(hits / k)}


MEASURE = simulated(LINES, as_printed)


def _quick(one: Cell) -> bool:
    return one.data == grid.FOURSQUARE.file and one.label in (*grid.CODED, grid.AUTO)


TABLES = Experiment(grid.TABLES, "[TS] tables 2 and 3: P and S", grid.tables(), MEASURE, _quick)
CURVES = Experiment(grid.CURVES, "[TS] figure 1 and table 4: S against k", grid.curves(), MEASURE)
SPREAD = Experiment(
    grid.SPREAD,
    "[TS] how much tables 2 and 3 hang on single counts of Foursquare",
    tuple(one for one in grid.tables() if one.data == grid.FOURSQUARE.file and one.label in grid.CODED),
    spread(LINES, as_printed),
    quick=lambda one: True,
)
LARGE = Experiment(grid.LARGE, "[TS] very large k on Foursquare", grid.large(), MEASURE)


def checks(published: Published) -> Iterator[Check]:
    """The printed P and S of the authors' programs, where the data are theirs."""
    data = grid.FOURSQUARE
    for (name, epsilon, k, mechanism), numbers in published.stable.items():
        if name == data.paper:
            one = grid.place(data, grid.TS_CODE if mechanism == "TS" else grid.LD_CODE, k, epsilon)
            reason = grid.TENTH if mechanism == "TS" else grid.TWO_RUNS
            known = reason if k == 10 or (k > 10 and mechanism == "TS") else ""  # TS tests every gap up to k
            for metric, value in zip(("printed_p", "score_ratio"), numbers, strict=True):
                yield Check(grid.TABLES, one, metric, value, trials=grid.TRIALS, spread=grid.SPREAD, known=known)


def contests(results: Results) -> Iterator[Contest]:
    """`auto` against the private mechanisms of the paper, at every place of its tables and curves."""
    for experiment in (TABLES, CURVES):
        for one in experiment.cells:
            if one.label != grid.AUTO or (experiment is CURVES and one.k in grid.TABLE_KS):
                continue  # a curve's cells at the k of the tables are those of the tables
            rivals = {
                label: results.of(experiment, Cell(**{**vars(one), "label": label}))
                for label in (grid.TS_PRIVATE, grid.LD_PRIVATE, grid.LD_CODE)
            }
            ours = results.of(experiment, one)
            for metric in ("score_ratio", "proportion"):
                others = {label: numbers[metric] for label, numbers in rivals.items() if numbers}
                if ours and others:
                    where = f"[TS] {one.data}, k = {one.k}, ε = {float(one.epsilon):g}"
                    yield Contest(where, metric, ours[metric], grid.AUTO, others)


PAPER = Paper(
    "top_stable", "[TS] tables 2–4, figure 1", (TABLES, SPREAD, CURVES, LARGE), page, checks=checks, contests=contests
)
