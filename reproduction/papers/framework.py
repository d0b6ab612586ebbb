"""[FW]: RestrictedGumbel against LimitDomain, TS, the exponential mechanism, and the variants for Δ = 8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from reproduction.experiment import Cell, Check, Contest, Experiment, Numbers, Paper, Results
from reproduction.papers import framework_agreement as agreement
from reproduction.papers import framework_grid as grid
from reproduction.papers.framework_lines import LINES, PUBLIC
from reproduction.papers.framework_page import page
from reproduction.public_items import over_public_items
from reproduction.published import Published
from reproduction.simulate import simulated, spread

PUBLISHED = (grid.RG, grid.LD)
_SIMULATED, _PUBLIC = simulated(LINES), over_public_items(PUBLIC)


def _quick(one: Cell) -> bool:
    own = one.data == grid.FOURSQUARE.file
    return own and one.k != 100 and one.epsilon in (Fraction(1, 5), Fraction(3, 5), 1)


CURVES = Experiment(grid.CURVES, "[FW] figures 4 and 5: RG against LD", grid.curves(), _SIMULATED, _quick)
SPREAD = Experiment(
    grid.SPREAD,
    "[FW] how much figures 4 and 5 hang on single counts of Foursquare",
    tuple(one for one in grid.curves() if one.data == grid.FOURSQUARE.file and one.label in PUBLISHED),
    spread(LINES),
    _quick,
)
AUTOS = Experiment(grid.AUTOS, "[FW] the same questions, asked with auto", grid.autos(), _SIMULATED, _quick)
RIVALS = Experiment(
    grid.RIVALS,
    "[FW] TS, and the exponential mechanism over public items",
    grid.rivals(),
    lambda one, shelf: (_SIMULATED if one.label in LINES else _PUBLIC)(one, shelf),
)
BOUNDED = Experiment(grid.BOUNDS, "[FW] users of at most 8 items: LL, RN", grid.bounded(), _SIMULATED)
EXTRA = Experiment(grid.EXTRAS, "[FW] figure 7: up to 10^10 more public items", grid.extras(), _PUBLIC)


def checks(published: Published) -> list[Check]:
    """The published points of Foursquare."""
    return agreement.checks(published, grid.FOURSQUARE)


def contests(results: Results) -> Iterator[Contest]:
    """`auto` against RG, LD and TS where nothing is known of users; against LL and RN where Δ = 8; against EM."""
    for one in grid.curves():
        if one.label == grid.RG:
            rivals = {label: results.of(CURVES, replace(one, label=label)) for label in PUBLISHED}
            rivals[grid.TS] = results.of(RIVALS, replace(one, label=grid.TS, k_bar=one.k))
            yield from _contest(one, grid.AUTO, results.of(AUTOS, replace(one, label=grid.AUTO, k_bar=one.k)), rivals)
    for one in grid.bounded():
        if one.label == grid.BOUNDED:
            rivals = {label: results.of(BOUNDED, replace(one, label=label)) for label in (grid.LL, grid.RN)}
            yield from _contest(one, grid.BOUNDED, results.of(BOUNDED, one), rivals)
    for one in grid.rivals():
        if one.label == grid.LISTED:
            rivals = {grid.EM: results.of(RIVALS, replace(one, label=grid.EM))}
            yield from _contest(one, grid.LISTED, results.of(RIVALS, one), rivals)


def _contest(one: Cell, label: str, ours: Numbers, rivals: Mapping[str, Numbers]) -> Iterator[Contest]:
    where = f"[FW] {one.data}, k = {one.k}, k_bar = {one.k_bar}, ε = {float(one.epsilon):g}"
    for metric in agreement.METRICS.values():
        others = {name: numbers[metric] for name, numbers in rivals.items() if numbers}
        if ours and others:
            yield Contest(where, metric, ours[metric], label, others)


PAPER = Paper(
    "framework",
    "[FW] figures 4, 5, 7 and the mechanisms of 8 to 10",
    (CURVES, SPREAD, AUTOS, RIVALS, BOUNDED, EXTRA),
    page,
    checks=checks,
    contests=contests,
)
