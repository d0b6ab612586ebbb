"""How well the published points of [FW] are met."""

from __future__ import annotations

import math

from reproduction.checks import Verdict, verdicts_of
from reproduction.experiment import Check, Results
from reproduction.papers import framework_grid as grid
from reproduction.published import Published
from reproduction.render import table

METRICS = {"output_size": "returned", "score_quality": "score_ratio"}


def checks(published: Published, data: grid.Set) -> list[Check]:
    """The published points of a data set: means of 100 trials."""
    made = []
    for (figure, metric, k, k_bar, mechanism, epsilon), mean in published.framework.items():
        if figure == data.figure:
            one = grid.place(data, grid.RG if mechanism == "RG" else grid.LD, k, k_bar, epsilon)
            known = grid.RARE if epsilon == grid.EPSILONS[0] else ""
            made.append(
                Check(
                    grid.CURVES,
                    one,
                    METRICS[metric],
                    mean,
                    grid.THEIR_TRIALS,
                    spread=grid.SPREAD,
                    known=known,
                )
            )
    return made


def agreement(results: Results, published: Published) -> str:
    """For each data set, mechanism and measure: how many points there are, how many are met, and the worst."""
    rows = []
    for data in grid.DATA:
        found = verdicts_of(checks(published, data), results)
        for label in (grid.RG, grid.LD):
            for metric in METRICS.values():
                some = [one for one in found if one.check.cell.label == label and one.check.metric == metric]
                if some:
                    rows.append([data.name, label, metric, *_counts(some)])
    return table(
        ["data", "mechanism", "measure", "points", "met by Monte-Carlo error alone", "met", "mean difference", "worst"],
        rows,
    )


def _counts(some: list[Verdict]) -> list[str]:
    plain = sum(Verdict(one.check, one.ours).met for one in some)
    apart = [one.ours.value - one.check.published for one in some]
    worst = max(apart, key=abs)
    mean = math.fsum(map(abs, apart)) / len(apart)
    met = str(sum(one.met for one in some)) if some[0].spread or _own(some[0]) else "–"
    return [str(len(some)), str(plain), met, f"{mean:.3f}", f"{worst:+.3f}"]


def _own(verdict: Verdict) -> bool:
    return verdict.check.cell.data == grid.FOURSQUARE.file
