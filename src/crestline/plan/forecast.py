"""Expected results of each mechanism on a public histogram: by its exact law where that is fast, else by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.histogram.view_kinds import PAIRS, SLOTS, view_of
from crestline.mechanisms.mechanism import AnyMechanism
from crestline.mechanisms.selection import Selection
from crestline.plan.candidates import (
    Candidate,
    SkippedMechanism,
    build_candidate,
    candidate_settings,
    cut_histogram,
    k_bar_choices,
)
from crestline.plan.synthetic_users import SyntheticUsers
from crestline.prepare import describe_choice
from crestline.question import Question
from crestline.randomness.entropy import Entropy

TRIALS = 300
CHANCE = 0.95
_QUICK_LENGTHS = 60_000  # largest k times k_bar for which the exact law of the length is computed
_SLOW_TRIALS = 8  # trials of a mechanism that views pairs
_QUICK_LAW = 30  # most ordered outcomes for which the whole law is computed; some need an integral for each

Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Estimate:
    """An expected value, computed or simulated; if simulated, `error` is half the width of its 95% interval."""

    value: float
    error: float = 0.0
    simulated: bool = False


@dataclass(frozen=True)
class Forecast:
    """One row of a plan.

    Attributes:
        mechanism: Name of the mechanism.
        k_bar: Number of slots it sees; None where it reads a whole list or another view.
        parameters: Its parameters as text.
        output: What it returns, from the catalogue.
        price: How its cost grows, from the catalogue.
        guarantee: Its guarantee as text.
        margin: Users by which an item must exceed the first item left out to be named with 95% probability.
        needed: The count that has this margin on this histogram, which is public.
        returned: Expected number of items.
        ratio: Expected sum of the returned items' counts, divided by the sum of the k largest counts.
    """

    mechanism: str
    k_bar: int | None
    parameters: Mapping[str, str]
    output: str
    price: str
    guarantee: str
    margin: float | None
    needed: float | None
    returned: Estimate
    ratio: Estimate


@dataclass(frozen=True)
class Simulation:
    """How releases are simulated where no formula gives the result; `watch` receives the steps done and in all."""

    entropy: Entropy
    trials: int = TRIALS
    watch: Watch = lambda done, of: None


@dataclass(frozen=True)
class PublicData:
    """Data of a forecast: a shape, or data declared public. Never private data, because a forecast reveals it.

    Attributes:
        histogram: At least as many slots as the largest `k_bar` that is tried.
        domain: Histogram of a public list of all items; None leaves out mechanisms for known domains.
        crowd: Users behind the counts; None leaves out mechanisms that view pairs or all observed items.
    """

    histogram: Histogram
    domain: Histogram | None = None
    crowd: SyntheticUsers | None = None


def forecast(
    data: PublicData, question: Question, simulation: Simulation, *, mechanisms: Sequence[str] = ()
) -> tuple[tuple[Forecast, ...], tuple[SkippedMechanism, ...]]:
    """Forecasts of all applicable mechanisms, each at its best `k_bar`, best first, and the others with reasons.

    Raises:
        ParameterError: The histogram has fewer slots than a `k_bar` that is tried.
    """
    most = max(k_bar_choices(question))
    if data.histogram.k_bar < most:
        raise ParameterError(f"the histogram must hold k_bar={most} items; count again with that")
    rows: dict[Candidate, Forecast] = {}
    skipped: dict[str, SkippedMechanism] = {}
    tries = candidate_settings(question, mechanisms)
    for done, (line, k_bar) in enumerate(tries):
        simulation.watch(done, len(tries))
        made = build_candidate(line, k_bar, question, public_list=data.domain is not None, crowd=data.crowd)
        if isinstance(made, Candidate) and made not in rows:
            try:
                rows[made] = _forecast_row(made, _forecast_input(made, k_bar, data), question.k, simulation)
            except HistogramError as error:
                made = SkippedMechanism(line.name, str(error))
        if isinstance(made, SkippedMechanism):
            skipped[line.name] = made
    simulation.watch(len(tries), len(tries))
    best = _best(list(rows.values()))
    named = {row.mechanism for row in best}
    return best, tuple(line for line in skipped.values() if line.mechanism not in named)


@dataclass(frozen=True)
class ForecastInput:
    """Histogram that a mechanism sees, and the true counts of all items, by which its selections are scored."""

    histogram: Histogram
    truth: Histogram


def _forecast_input(made: Candidate, k_bar: int, data: PublicData) -> ForecastInput:
    """The view of a candidate on public data."""
    view, domain, crowd = view_of(made.mechanism), data.domain, data.crowd
    if view != SLOTS:
        found = None if crowd is None else crowd.view_data(view)
        assert crowd is not None, "such a candidate needs a crowd"
        assert found is not None, "such a candidate needs a crowd"
        return ForecastInput(found, crowd.true_histogram)
    seen_of = (
        domain if made.k_bar is None and domain is not None else cut_histogram(data.histogram, made.k_bar or k_bar)
    )
    return ForecastInput(seen_of, seen_of)


def _forecast_row(made: Candidate, shown: ForecastInput, k: int, simulation: Simulation) -> Forecast:
    """Forecast of one candidate."""
    mechanism = made.mechanism
    returned, ratio = expected_result(mechanism, shown, k, simulation.trials, simulation.entropy)
    margin = None if mechanism.margin is None else float(mechanism.margin(CHANCE))
    left_out = None if view_of(mechanism) != SLOTS else shown.histogram.next_count
    return Forecast(
        mechanism=made.entry.name,
        k_bar=made.k_bar,
        parameters=describe_choice(mechanism, "").parameters,
        output=made.entry.output,
        price=made.entry.price,
        guarantee=str(mechanism.guarantee()),
        margin=margin,
        needed=None if margin is None or left_out is None else left_out + margin,
        returned=returned,
        ratio=ratio,
    )


def expected_result(
    mechanism: AnyMechanism, shown: ForecastInput, k: int, trials: int, entropy: Entropy
) -> tuple[Estimate, Estimate]:
    """Expected number of items, and expected part of the score of the true top k, on data that must be public."""
    histogram, score = shown.histogram, _ScoreLookup(shown.truth, k)
    if view_of(mechanism) == PAIRS:
        trials = min(trials, _SLOW_TRIALS)
    elif mechanism.law is not None and math.perm(histogram.k_bar + 1, min(k, histogram.k_bar + 1)) <= _QUICK_LAW:
        law = mechanism.law(histogram)
        return (
            Estimate(math.fsum(len(selection) * chance for selection, chance in law.items())),
            Estimate(min(1.0, math.fsum(score.ratio(selection) * chance for selection, chance in law.items()))),
        )
    drawn = mechanism.release_seen(histogram, trials, entropy)
    returned = _mean_estimate([float(len(selection)) for selection in drawn])
    if view_of(mechanism) == SLOTS and mechanism.length_law is not None and k * histogram.k_bar <= _QUICK_LENGTHS:
        returned = Estimate(math.fsum(n * chance for n, chance in enumerate(mechanism.length_law(histogram))))
    return returned, _mean_estimate([score.ratio(selection) for selection in drawn])


class _ScoreLookup:
    """Scores of selections against the k largest counts."""

    def __init__(self, histogram: Histogram, k: int) -> None:
        values, sizes = histogram.distinct_counts
        self._counts: dict[Label, int] = dict(zip(histogram.items, histogram.counts, strict=True))
        best, left = 0, k
        for value, size in zip(values.tolist(), sizes, strict=True):
            best, left = best + value * min(size, left), left - min(size, left)
        self._best = best

    def ratio(self, selection: Selection) -> float:
        """The counts of the returned items divided by those of the true top k; 1 where all counts are zero."""
        return sum(self._count(label) for label in selection.items) / self._best if self._best else 1.0

    def _count(self, label: Label) -> int:
        return self._counts[label] if self._counts else label[0]  # labels of multiplicities are (count, index)


def _mean_estimate(values: Sequence[float]) -> Estimate:
    """Mean of simulated values with its error."""
    array = np.array(values)
    error = 1.96 * float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else math.inf
    return Estimate(float(array.mean()), error, simulated=True)


def _best(rows: Sequence[Forecast]) -> tuple[Forecast, ...]:
    """The best row of each mechanism, best first."""
    first: dict[str, Forecast] = {}
    for row in sorted(rows, key=_robustness_key, reverse=True):
        first.setdefault(row.mechanism, row)
    return tuple(sorted(first.values(), key=lambda row: (-row.ratio.value, -row.returned.value)))


def _robustness_key(row: Forecast) -> tuple[float, float, int]:
    """Sort key: the score, then, where scores are about equal, k_bar: with more slots the data may differ more."""
    return round(row.ratio.value, 2), round(row.returned.value, 1), row.k_bar or 0
