"""The page on real users and items: one picture, who is best where, and whether `auto` chose well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from crestline.pictures import Picture
from reproduction.counted import read_cells
from reproduction.curves import Axis, Point, curves
from reproduction.experiment import Cell, Estimate, Experiment, Results
from reproduction.papers.practice_words import (
    CHOICE_WORDS,
    COUNT_WORDS,
    FILES_WORDS,
    OTHERS_WORDS,
    TABLE_WORDS,
    WORDS,
)
from reproduction.published import Published
from reproduction.render import MISSING, Page, number, shown, table

DATA = ("MOVIELENS_1M", "RETAIL_BASKETS", "LASTFM_HETREC", "YELP_REVIEWS_5CORE", "BMS_WEBVIEW1")
OTHERS = (
    "STEAM_PURCHASES",
    "AMAZON_VIDEO_GAMES",
    "ANIME_5000USERS",
    "CITEULIKE_A",
    "BOOKCROSSING_SUBSET",
    "FOURSQUARE_NYC_TKY_RECON",
    "ONLINE_RETAIL",
    "BRIGHTKITE_FILTERED",
    "GOWALLA_10CORE",
)
KS = (10, 50, 100)
EPSILONS = (Fraction(1), Fraction(1, 10))
DELTA = Fraction(1, 10**6)
BOUNDS = (1, 5, 20, 50)
CAPS = (*BOUNDS, 200)  # weights make a large cap cheap
AUTO_FREE, AUTO_BOUND = "crestline auto, no bound", "crestline auto, bound"
OPENDP: Mapping[str, str] = {"OpenDP, Laplace": "laplace", "OpenDP, Gauss": "gaussian"}
PIPELINEDP = "PipelineDP"
LIBRARIES = (*OPENDP, PIPELINEDP)
MISSING_MASS = "Missing mass"
PEERS = (*LIBRARIES, MISSING_MASS)
SIEVE = "Sieve"
SINGLE = ("CanonicalBottom", "RestrictedGumbel", "LimitedDomain", "LimitedDomainGauss", "TopStable")
THROUGH_FILES = ("RETAIL_BASKETS", "LASTFM_HETREC", "BMS_WEBVIEW1")
_COLOURS = {
    SIEVE: "#56b4e9",
    AUTO_FREE: "#000000",
    AUTO_BOUND: "#0072b2",
    "OpenDP, Laplace": "#e69f00",
    "OpenDP, Gauss": "#d55e00",
    PIPELINEDP: "#009e73",
    MISSING_MASS: "#cc79a7",
}
_ELSEWHERE = (SIEVE, AUTO_FREE, *OPENDP, MISSING_MASS)
OURS = (SIEVE, AUTO_FREE)  # without a bound
_AHEAD = 0.01


Place: TypeAlias = tuple[str, Fraction, int]  # data, ε, k


@dataclass(frozen=True)
class Measured:
    """The experiments of the page: the five data sets, nine others, three through files, and single mechanisms."""

    practice: Experiment
    others: Experiment
    files: Experiment
    choice: Experiment


def hits(k: int) -> str:
    """The metric: which share of the true top k was returned."""
    return f"true@{k}"


def page(measured: Measured, results: Results, published: Published) -> Page:
    """The page; holes where nothing was run."""
    practice = measured.practice
    pictures = {f"practice-{float(epsilon):g}": _picture(practice, results, epsilon) for epsilon in EPSILONS}
    parts = [WORDS, TABLE_WORDS, _verdict(practice, results, DATA), _best_table(practice, results, DATA, _COLOURS)]
    parts += [shown(name, "share of the true top k against the contribution bound") for name in pictures]
    parts += [COUNT_WORDS, _counts_table()]
    parts += [OTHERS_WORDS, _verdict(measured.others, results, OTHERS)]
    parts += [_best_table(measured.others, results, OTHERS, _ELSEWHERE)]
    parts += [FILES_WORDS, _files_table(measured, results), CHOICE_WORDS, _choice_table(measured, results)]
    return Page("\n".join(parts), {name: found for name, found in pictures.items() if found is not None})


def _counts_table() -> str:
    """Shares and errors of counts on the five data sets, from what `python -m reproduction.counts` measured."""
    cells = [cell for cell in read_cells() if cell.data in DATA and Fraction(str(cell.epsilon)) in EPSILONS]
    rows = [
        [
            cell.data,
            f"{cell.epsilon:g}",
            str(cell.k),
            number(cell.share, 2),
            _error(cell.error),
            f"{cell.best_share[0]:.2f}",
            _error(cell.best_share[2]),
            _error(cell.least_error),
        ]
        for cell in sorted(cells, key=lambda cell: (DATA.index(cell.data), -cell.epsilon, cell.k))
    ]
    return table(["data", "ε", "k", "share", "error", "OpenDP share", "its error", "its least error"], rows)


def _error(error: float | None) -> str:
    return MISSING if error is None else f"{error:.1%}"


def _verdict(experiment: Experiment, results: Results, names: Sequence[str]) -> str:
    """In how many cells each of ours returns at least as much as the others at the best of their settings."""
    rivals = {"the libraries": LIBRARIES, "all others": PEERS}
    columns = ["", "cells", "at least as much", "more by 0.01", "mean share", "mean of the best other"]
    rows = [
        [f"{label}, against {whom}", *_compared(experiment, results, names, (label, others))]
        for label in OURS
        for whom, others in rivals.items()
    ]
    return table(columns, rows)


def _compared(
    experiment: Experiment, results: Results, names: Sequence[str], sides: tuple[str, Sequence[str]]
) -> list[str]:
    """How many cells are known, level within two standard errors, and ahead; and both means."""
    label, others = sides
    known = [
        (ours, rivals)
        for place in _places(names)
        if (ours := _ours(experiment, results, place, label))
        and (rivals := _rivals(experiment, results, place, others))
    ]
    if not known:
        return [MISSING] * 5
    level = sum(all(_level(ours, rival) for rival in rivals) for ours, rivals in known)
    best = [max(rival.value for rival in rivals) for _, rivals in known]
    ahead = sum(ours.value > most + _AHEAD for (ours, _), most in zip(known, best, strict=True))
    means = [sum(ours.value for ours, _ in known) / len(known), sum(best) / len(known)]
    return [str(len(known)), str(level), str(ahead), *(number(mean) for mean in means)]


def _level(ours: Estimate, rival: Estimate) -> bool:
    """Whether ours is at least as much, within two standard errors."""
    return ours.value >= rival.value - 2 * math.hypot(ours.error, rival.error)


def _places(names: Sequence[str]) -> Iterator[Place]:
    return ((data, epsilon, k) for data in names for epsilon in EPSILONS for k in KS)


def _ours(experiment: Experiment, results: Results, place: Place, label: str) -> Estimate | None:
    found = _found(experiment, results, place, label)
    return found[0][0] if found else None


def _rivals(experiment: Experiment, results: Results, place: Place, others: Sequence[str]) -> list[Estimate]:
    """The shares of the others, at every bound."""
    return [one for label in others for one, _ in _found(experiment, results, place, label)]


def _points(practice: Experiment, results: Results, epsilon: Fraction) -> Iterator[Point]:
    for data in DATA:
        for k in KS:
            panel = f"{data}, k = {k}"
            for label in _COLOURS:
                for one in _of(practice, data, epsilon, label):
                    found = results.of(practice, one).get(hits(k))
                    if found is not None:
                        bounds = [int(dict(one.more)["bound"])] if one.more else list(BOUNDS)
                        yield from (Point(bound, found.value, label, panel) for bound in bounds if bound in BOUNDS)


def _of(practice: Experiment, data: str, epsilon: Fraction, label: str) -> Iterator[Cell]:
    return (one for one in practice.cells if (one.data, one.epsilon, one.label) == (data, epsilon, label))


def _picture(practice: Experiment, results: Results, epsilon: Fraction) -> Picture | None:
    points = list(_points(practice, results, epsilon))
    if not points:
        return None
    return curves(
        points,
        x=Axis("most items a user may count for", log=True, domain=(1, 50)),
        y=Axis("share of the true top k", domain=(0, 1)),
        title=f"Who returns the true top k? ε = {float(epsilon):g}, δ = 1e-6",
        subtitle="thresholding needs the right bound, and nobody knows it beforehand; the dashed lines need none",
        dashed=OURS,
        colours=_COLOURS,
    )


def _best_table(experiment: Experiment, results: Results, names: Sequence[str], labels: Iterable[str]) -> str:
    """Without a bound one number; else the best over all bounds and the bound that gave it, known only afterwards."""
    columns = tuple(labels)
    rows = [
        [place[0], f"{float(place[1]):g}", str(place[2]), *(_best(experiment, results, place, one) for one in columns)]
        for place in _places(names)
    ]
    return table(["data", "ε", "k", *columns], rows)


def _found(experiment: Experiment, results: Results, place: Place, label: str) -> list[tuple[Estimate, str]]:
    """What was measured of a line at one place, with the bounds."""
    data, epsilon, k = place
    return [
        (value, dict(one.more).get("bound", ""))
        for one in _of(experiment, data, epsilon, label)
        if (value := results.of(experiment, one).get(hits(k)))
    ]


def _best(experiment: Experiment, results: Results, place: Place, label: str) -> str:
    found = _found(experiment, results, place, label)
    if not found:
        return MISSING
    best, bound = max(found, key=lambda pair: pair[0].value)
    return number(best.value, 2) + (f" ({bound})" if bound else "")


def _files_table(measured: Measured, results: Results) -> str:
    rows = []
    for one in measured.files.cells:
        memory = _found(measured.practice, results, (one.data, one.epsilon, one.k), one.label)
        found = results.of(measured.files, one).get(hits(one.k))
        row = [one.data, f"{float(one.epsilon):g}", str(one.k), number(found)]
        rows.append([*row, number(memory[0][0]) if memory else MISSING])
    return table(["data", "ε", "k", "through the file", "pairs in memory"], rows)


def _choice_table(measured: Measured, results: Results) -> str:
    rows = []
    for place in _places(DATA):
        data, epsilon, k = place
        shares = {
            one.label: found
            for one in measured.choice.cells
            if (one.data, one.epsilon, one.k) == place
            if (found := results.of(measured.choice, one).get(hits(k)))
        }
        ours = [_ours(measured.practice, results, place, label) for label in OURS]
        row = [MISSING if share is None else number(share.value, 2) for share in (*ours, *map(shares.get, SINGLE))]
        rows.append([data, f"{float(epsilon):g}", str(k), *row])
    return table(["data", "ε", "k", SIEVE, "auto", *SINGLE], rows)
