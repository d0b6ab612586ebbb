"""The page of [SL]: how much ε each mechanism needs, and curves for every data set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from crestline.pictures import Picture
from reproduction.curves import Axis, Point, curves
from reproduction.experiment import Cell, Estimate, Experiment, Results
from reproduction.papers.canonical_lines import (
    ALL,
    CANONICAL,
    CANONICAL_1,
    COLOURS,
    DATA,
    KS,
    NOISES,
    OURS,
    PEELING,
    PEELING_OURS,
    QUALITIES,
    RATIO,
    WANTED,
)
from reproduction.papers.canonical_words import CURVES_WORDS, NEEDED_WORDS, RATIO_WORDS, WORDS, ZIPF_WORDS
from reproduction.published import Published
from reproduction.render import MISSING, Page, number, shown, table

_AXIS = Axis("probability", domain=(0, 1))
_PRINTED = {10: "6", 100: "34", 1000: "81"}


def page(experiments: tuple[Experiment, Experiment, Experiment], results: Results, published: Published) -> Page:
    """Tables and pictures of the three experiments: the ε needed, against ε, and against the exponent of Zipf's law."""
    needed, against_epsilon, zipf = experiments
    pictures = {f"canonical-{name.lower()}": _data_picture(against_epsilon, results, name) for name in DATA}
    pictures |= {"canonical-zipf": _zipf_picture(zipf, results), "canonical-needed": _needed_picture(needed, results)}
    parts = [WORDS, shown("canonical-needed", "the ε that each mechanism needs for the exact top k, on six data sets")]
    parts += [NEEDED_WORDS, _needed_table(needed, results), RATIO_WORDS, _ratio_table(needed, results)]
    parts += [CURVES_WORDS, _chances_table(against_epsilon, results)]
    parts += [f"### {name}\n\n" + shown(f"canonical-{name.lower()}", f"chances against ε on {name}") for name in DATA]
    parts += [ZIPF_WORDS, shown("canonical-zipf", "chances against the exponent of Zipf's law")]
    return Page("\n".join(parts), {name: found for name, found in pictures.items() if found is not None})


def _panels(cells: Sequence[Cell], experiment: Experiment, results: Results, x: str) -> list[Point]:
    """Points of all qualities, panel after panel; `x` names what the horizontal axis shows."""
    found = []
    for one in sorted(cells, key=lambda one: (one.k, ALL.index(one.label))):
        place = float(dict(one.more)[x]) if x else float(one.epsilon)
        for name, value in results.of(experiment, one).items():
            found.append((one.k, name, Point(place, value.value, one.label, f"{name}, k = {one.k}")))
    return [point for _, _, point in sorted(found, key=lambda row: (row[0], QUALITIES.index(row[1])))]


def _data_picture(experiment: Experiment, results: Results, data: str) -> Picture | None:
    points = _panels([one for one in experiment.cells if one.data == data], experiment, results, "")
    return _picture(points, Axis("ε", log=True, domain=(1e-3, 1e3)), f"{data}: how good is the selection?")


def _zipf_picture(experiment: Experiment, results: Results) -> Picture | None:
    points = _panels(experiment.cells, experiment, results, "s")
    return _picture(points, Axis("exponent s", domain=(0, 1)), "Zipf's law, 10,000 items, ε = 1")


def _picture(points: list[Point], x: Axis, title: str) -> Picture | None:
    if not points:
        return None
    subtitle = "exact probabilities; higher is better, and for a curve against ε so is further left"
    return curves(points, x=x, y=_AXIS, title=title, subtitle=subtitle, dashed=(OURS,), colours=COLOURS)


def _needed_picture(experiment: Experiment, results: Results) -> Picture | None:
    points = [
        Point(one.k, found, one.label, one.data)
        for one in sorted(experiment.cells, key=lambda one: (DATA.index(one.data), _line(one.label)))
        if one.label != RATIO and dict(one.more)["wanted"] == WANTED[0]
        if math.isfinite(found := _epsilon(experiment, results, one))
    ]
    if not points:
        return None
    return curves(
        points,
        x=Axis("k", log=True, domain=(10, 1000)),
        y=Axis("ε needed", log=True),
        title="The exact top k with probability 0.99: how much ε does it take?",
        subtitle="lower is better; a line that ends early meets a tie at rank k, which no ε can break",
        dashed=(OURS,),
        colours=COLOURS,
    )


def _line(label: str) -> int:
    return ALL.index(label) if label in ALL else len(ALL)


def _epsilon(experiment: Experiment, results: Results, one: Cell) -> float:
    found = results.of(experiment, one).get("epsilon")
    return math.inf if found is None else found.value


def _of(experiment: Experiment, **wanted: object) -> Iterator[Cell]:
    """The cells whose fields, or further values, are as wanted."""
    for one in experiment.cells:
        more = dict(one.more)
        if all((more[name] if name in more else getattr(one, name)) == value for name, value in wanted.items()):
            yield one


def _needed_table(experiment: Experiment, results: Results) -> str:
    rows = []
    for data in DATA:
        for k in KS:
            cells = {one.label: one for one in _of(experiment, data=data, k=k, wanted=WANTED[0])}
            found = [_epsilon(experiment, results, cells[label]) for label in ALL]
            rows.append([data, str(k), *(_three(value) for value in found)])
    return table(["ε for Pr[TOP] ≥ 0.99", "k", *ALL], rows)


def _three(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}" if math.isfinite(value) else MISSING


def _ratio_table(experiment: Experiment, results: Results) -> str:
    rows = []
    for k in KS:
        at = {
            wanted: {one.label: one for one in _of(experiment, data="NETFLIX", k=k, wanted=wanted)} for wanted in WANTED
        }
        row = [str(k)]
        for wanted in WANTED:
            ours = _epsilon(experiment, results, at[wanted][CANONICAL])
            for label in (PEELING, "one-shot, exponential", "one-shot, logistic"):
                theirs = _epsilon(experiment, results, at[wanted][label])
                row.append(f"{theirs / ours:.1f}×" if math.isfinite(theirs) else MISSING)
        drawn = results.of(experiment, at[WANTED[1]][RATIO]).get("drawn")
        rows.append([*row, number(drawn, 1) + ("×" if drawn else ""), f"{_PRINTED[k]}×"])
    columns = [f"{name}, {wanted}" for wanted in WANTED for name in ("peeling", "exponential", "logistic")]
    return table(["k", *columns, "as drawn in [SL]", "printed in [SL]"], rows)


def _chances_table(experiment: Experiment, results: Results) -> str:
    shown_lines = (CANONICAL, CANONICAL_1, next(iter(NOISES)), PEELING, PEELING_OURS, OURS)
    rows = []
    for data in DATA:
        for k in KS:
            cells = {one.label: one for one in _of(experiment, data=data, k=k, epsilon=Fraction(1))}
            rows.append([data, str(k), *(_triple(results.of(experiment, cells[label])) for label in shown_lines)])
    return table(["ε = 1", "k", *shown_lines], rows)


def _triple(found: object) -> str:
    if not isinstance(found, dict) or not found:
        return MISSING
    values: list[Estimate] = [found[name] for name in QUALITIES]
    return " / ".join(f"{value.value:.3f}" for value in values)
