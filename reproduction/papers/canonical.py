"""[SL] figures 1 to 10: selections from a public list, by exact probabilities instead of simulation.

Published: peeling, one-shot noise and the canonical mechanism at pure ε. Ours: what `auto` chooses at (ε, δ), and
peeling whose k steps are composed by crestline's accountants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.prepare import prepare
from crestline.question import Limits, Question
from reproduction.data import Shelf
from reproduction.exact import Mechanism, chances, epsilon_needed, qualities
from reproduction.experiment import (
    Cell,
    Check,
    Contest,
    Estimate,
    Experiment,
    Numbers,
    Paper,
    Results,
    cell,
)
from reproduction.papers.canonical_lines import (
    ALL,
    CANONICAL,
    CANONICAL_1,
    DATA,
    DELTA,
    EPSILONS,
    KS,
    NOISES,
    OURS,
    PEELING,
    PEELING_OURS,
    PUBLISHED,
    QUALITIES,
    RATIO,
    SKEWS,
    WANTED,
)
from reproduction.papers.canonical_page import page
from reproduction.published import Published

_STEP = 2**20  # a Zipf count is not whole: so many parts make one user
_SIZE, _TOTAL = 10**4, 15**7
_SPAN = 15  # ε is sought between 2^-15 and 2^15


def mechanism(label: str, k: int, epsilon: Fraction) -> Mechanism:
    """What a label stands for."""
    if label == OURS:
        asked = Question.from_fields({"k": k, "epsilon": epsilon, "delta": DELTA, "ordered": False})
        found = prepare(asked, limits=Limits(public_list=True))
        assert isinstance(found.mechanism, Mechanism)
        return found.mechanism
    if label == PEELING_OURS:
        return _composed(k, epsilon)
    if label in (CANONICAL, CANONICAL_1):
        return Canonical(k, epsilon, 1 if label == CANONICAL_1 else Fraction(1, 2))
    return Lipschitz(k, epsilon, NOISES.get(label, "gumbel"))


@lru_cache(maxsize=128)
def _composed(k: int, epsilon: Fraction) -> Lipschitz:
    return Lipschitz.for_budget(k=k, epsilon=epsilon, delta=DELTA)


def measure(cell: Cell, shelf: Shelf) -> Numbers:
    """The exact chances of TOP, GREAT and GOOD."""
    found = chances(mechanism(cell.label, cell.k, cell.epsilon), _public_list(cell, shelf))
    return {name: Estimate(value) for name, value in found.items()}


def measure_needed(cell: Cell, shelf: Shelf) -> Numbers:
    """The ε that TOP needs to be as likely as the cell wants it."""
    wanted, top = float(dict(cell.more)["wanted"]), qualities(cell.k)[0]
    if cell.label == RATIO:
        return _drawn_ratio(cell, shelf, wanted)
    # where peeling is composed: the same peeling, and what crestline's accountant makes of it
    composed = cell.label == PEELING_OURS
    make = partial(mechanism, PEELING if composed else cell.label, cell.k)
    digits = 2 if cell.label == OURS else 4  # it is divided anew for every ε, which takes its time
    needed = epsilon_needed(make, _public_list(cell, shelf), top, wanted, span=_SPAN, digits=digits)
    if composed and math.isfinite(needed):
        total = Lipschitz(cell.k, Fraction(needed), slack=DELTA).guarantee().epsilon
        needed = math.inf if total is None else float(total)
    return {"epsilon": Estimate(needed)}


def _drawn_ratio(cell: Cell, shelf: Shelf, wanted: float) -> Numbers:
    """The ratio as the authors' script draws it: both ends of the arrow are first moved in by 1 % of its length."""
    top, seen = qualities(cell.k)[0], _public_list(cell, shelf)
    ours, theirs = (
        min(epsilon_needed(partial(mechanism, label, cell.k), seen, top, wanted, span=_SPAN) for label in labels)
        for labels in ((CANONICAL, CANONICAL_1), (PEELING, "one-shot, exponential"))
    )
    moved = (theirs - ours) / 100
    drawn = (theirs - moved) / (ours + moved)
    return {"ratio": Estimate(theirs / ours), "drawn": Estimate(drawn), "printed": Estimate(math.floor(drawn))}


def _public_list(cell: Cell, shelf: Shelf) -> Histogram:
    return _zipf(float(dict(cell.more)["s"])) if cell.data == "ZIPF" else _counted(shelf.path, cell.data)


@lru_cache(maxsize=8)
def _counted(path: Path, name: str) -> Histogram:
    values, sizes = np.unique(Shelf(path).counts(name), return_counts=True)
    return Histogram.from_multiplicities(dict(zip(values.tolist(), sizes.tolist(), strict=True)))


@lru_cache(maxsize=8)
def _zipf(skew: float) -> Histogram:
    """Zipf's law over 10^4 items with 15^7 users' worth of counts in all, as the authors make it."""
    share = np.arange(1, _SIZE + 1, dtype=np.float64) ** -skew
    counts = np.rint(share / share.sum() * _TOTAL * _STEP).astype(np.int64)
    values, sizes = np.unique(counts, return_counts=True)
    return Histogram.from_multiplicities(dict(zip(values.tolist(), sizes.tolist(), strict=True)), unit=_STEP)


def _curve_cells() -> Iterator[Cell]:
    """What the pictures need most comes first: an interrupted run is then of use."""
    for labels in ((OURS, *PUBLISHED[:4]), (PEELING_OURS, *PUBLISHED[4:])):
        for k in KS:
            for data in DATA:
                for epsilon in EPSILONS[k]:
                    yield from (cell(data, label, k=k, epsilon=epsilon, delta=_delta(label)) for label in labels)


def _delta(label: str) -> Fraction:
    return DELTA if label in (OURS, PEELING_OURS) else Fraction(0)


def _zipf_cells() -> Iterator[Cell]:
    for k in KS:
        for skew in SKEWS:
            for label in ALL:
                yield cell("ZIPF", label, k=k, epsilon=1, delta=_delta(label), s=skew)


CURVES = Experiment(
    "canonical",
    "[SL] figures 1 to 9: exact chances of TOP, GREAT and GOOD against ε",
    tuple(_curve_cells()),
    measure,
    version=2,
    quick=lambda cell: cell.data == "NETFLIX" and cell.k == 10 and cell.epsilon in (Fraction("0.01"), Fraction("0.1")),
)
ZIPF = Experiment(
    "canonical-zipf",
    "[SL] figure 10: the same on Zipf's law, ε = 1, against its exponent",
    tuple(_zipf_cells()),
    measure,
    version=2,
    quick=lambda cell: cell.k == 10 and dict(cell.more)["s"] == "0.5",
)
NEEDED = Experiment(
    "canonical-needed",
    "[SL] section 7.1: the ε that makes TOP likely",
    tuple(
        cell(data, label, k=k, epsilon=0, wanted=wanted)
        for data in DATA
        for k in KS
        for wanted in WANTED
        for label in (*ALL, *((RATIO,) if data == "NETFLIX" else ()))
    ),
    measure_needed,
    version=2,
    quick=lambda cell: cell.data == "NETFLIX" and cell.label == RATIO and cell.k <= 100,
)
EXPERIMENTS = (NEEDED, CURVES, ZIPF)
_PRINTED = {10: 6, 100: 34, 1000: 81}  # section 7.1
_READ = "80.7 here; theirs is read off curves of 10,000 simulations a point, and rounded down"


def checks(published: Published) -> Iterable[Check]:
    """The three ratios of section 7.1, as the authors' script prints them: whole numbers, rounded down."""
    for k, ratio in _PRINTED.items():
        place = cell("NETFLIX", RATIO, k=k, epsilon=0, wanted="0.999")
        yield Check(NEEDED.name, place, "printed", ratio, known=_READ if k == 1000 else "")


def contests(results: Results) -> Iterator[Contest]:
    """What `auto` chooses against everything in the paper, at every point of every curve."""
    for experiment in (CURVES, ZIPF):
        for ours in (one for one in experiment.cells if one.label == OURS):
            rivals = {
                label: results.of(experiment, replace(ours, label=label, delta=Fraction(0))) for label in PUBLISHED
            }
            if not all(rivals.values()) or not results.of(experiment, ours):
                continue
            for name in QUALITIES:
                others = {label: _rounded(numbers[name]) for label, numbers in rivals.items()}
                place = " ".join([ours.data, f"k={ours.k}", f"ε={float(ours.epsilon):g}", *_more(ours)])
                yield Contest(place, name, _rounded(results.of(experiment, ours)[name]), OURS, others)


def _more(one: Cell) -> list[str]:
    return [f"{name}={value}" for name, value in one.more]


def _rounded(chance: Estimate) -> Estimate:
    """To six places: better than any picture shows."""
    return Estimate(round(chance.value, 6))


PAPER = Paper(
    "canonical", "[SL] figures 1 to 10, section 7.1", EXPERIMENTS, partial(page, EXPERIMENTS), checks, contests
)
