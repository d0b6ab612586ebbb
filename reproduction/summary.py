"""Over all cells: where the mechanism we recommend is at least as good as every published one, and where it is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.checks import LIMIT, Verdict, verdicts
from reproduction.experiment import Contest, Estimate, Paper, Results
from reproduction.published import Published
from reproduction.render import Page, number, table

# One-sided: an equal mechanism is called worse in one contest of 741 (z = 3).
WORSE = 3.0
# Less than this is no difference anybody would notice: a thousandth of the scale of the measure.
EQUAL = 0.001


@dataclass(frozen=True)
class Outcome:
    """A contest decided: the best rival, and whether ours is worse than it beyond Monte-Carlo error."""

    contest: Contest
    rival: str
    best: Estimate

    @property
    def worse(self) -> bool:
        ours = self.contest.ours
        scale = max(1.0, abs(self.best.value))
        return self.best.value - ours.value > WORSE * math.hypot(ours.error, self.best.error) + EQUAL * scale

    @property
    def better(self) -> bool:
        ours = self.contest.ours
        scale = max(1.0, abs(self.best.value))
        return ours.value - self.best.value > WORSE * math.hypot(ours.error, self.best.error) + EQUAL * scale


def decide(contest: Contest) -> Outcome:
    """Ours against the best of the others."""
    rival = max(contest.others, key=lambda name: contest.others[name].value)
    return Outcome(contest, rival, contest.others[rival])


def summary(papers: Sequence[Paper], results: Results, published: Published) -> Page:
    """The first page of the results."""
    outcomes = {paper.name: [decide(one) for one in paper.contests(results)] for paper in papers}
    met = verdicts(papers, results, published)
    parts = [_INTRODUCTION, _pages(papers), _MET, _checks(papers, results, published), _CONTESTS, _shares(outcomes)]
    worse = [one for some in outcomes.values() for one in some if one.worse]
    parts += [_WORSE.format(many=len(worse)), _listed(worse)]
    missed = [one for one in met if not one.met]
    parts += [_MISSED.format(many=len(missed), all=len(met)), _missed(missed)]
    return Page("\n".join(parts))


def _pages(papers: Sequence[Paper]) -> str:
    rows = [
        [f"[{paper.title}]({paper.name}.md)", str(sum(len(one.cells) for one in paper.experiments))] for paper in papers
    ]
    return table(["page", "cells"], rows)


def _checks(papers: Sequence[Paper], results: Results, published: Published) -> str:
    rows = []
    for paper in papers:
        some = verdicts([paper], results, published)
        if some:
            plain = sum(Verdict(one.check, one.ours).met for one in some)
            left = sum(one.failed for one in some)
            rows.append([paper.title, str(len(some)), str(plain), str(sum(one.met for one in some)), str(left)])
    head = ["paper", "published numbers", "met by Monte-Carlo error", "met with the data's own error", "not explained"]
    return table(head, rows)


def _shares(outcomes: dict[str, list[Outcome]]) -> str:
    rows = []
    for name, some in outcomes.items():
        groups = dict.fromkeys((one.contest.label, one.contest.metric) for one in some)
        for label, metric in groups:
            rows.append([name, label, metric, *_share([one for one in some if _group(one) == (label, metric)])])
    every = [one for some in outcomes.values() for one in some]
    rows.append(["**all**", "", "", *_share(every)])
    return table(["paper", "ours", "measure", "cells", "better", "as good", "worse", "at least as good"], rows)


def _group(outcome: Outcome) -> tuple[str, str]:
    return outcome.contest.label, outcome.contest.metric


def _share(some: Sequence[Outcome]) -> list[str]:
    worse, better = sum(one.worse for one in some), sum(one.better for one in some)
    share = 100 * (1 - worse / len(some)) if some else 0.0
    return [str(len(some)), str(better), str(len(some) - worse - better), str(worse), f"{share:.1f}%"]


def _listed(worse: Iterable[Outcome]) -> str:
    rows = [
        [
            one.contest.place,
            one.contest.label,
            one.contest.metric,
            number(one.contest.ours),
            f"{one.rival}: {number(one.best)}",
        ]
        for one in worse
    ]
    return table(["where", "ours", "measure", "ours, value", "best published"], rows)


def _missed(missed: Iterable[Verdict]) -> str:
    rows = [
        [
            one.place,
            number(one.check.published),
            number(one.ours),
            f"{_away(one):.1f}",
            one.check.known or "not explained",
        ]
        for one in missed
    ]
    return table(["number", "published", "here", "standard errors", "why"], rows)


def _away(one: Verdict) -> float:
    return abs(one.ours.value - one.check.published) / one.error if one.error else math.inf


_INTRODUCTION = """# Results

The experiments of four papers, run again with `python -m reproduction`: the published settings first, ours beside them
at the same total (ε, δ). Every page says what was published, what comes out here, and why it differs where it does. The
data are not part of crestline; files named `_SYNTH` are synthetic stand-ins, and no number from one is a reproduction.
"""

_MET = f"""## Published numbers

A number is met when it lies within {LIMIT:g} standard errors of the difference; the published mean is taken to have the
spread of ours over its own number of trials. Where the data were put together again, the spread over counts moved at
random by two per cent is added. Only numbers on the papers' own data are checked.
"""

_CONTESTS = f"""## Ours against every published mechanism

For each cell, the mechanism that `mechanism="auto"` takes against the best published one *of that cell*. Ours is called
worse (or better) when the difference exceeds {WORSE:g} standard errors and a thousandth of the scale; else as good.
Programs that are not private (the authors' TS, which tests a gap one position off) do not take part.
"""

_WORSE = """## Where ours is worse: {many} cells

Those of public lists lie where sets just begin to stand out; [the page](canonical.md) says why no rule can know which
way is better there.
"""

_MISSED = """## Published numbers not met: {many} of {all}
"""
