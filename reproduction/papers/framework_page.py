"""The page of [FW]: pictures, how well the published points are met, and what is better."""

from __future__ import annotations

from collections.abc import Iterator

from crestline.pictures import Picture
from reproduction.curves import COLOURS, Axis, Point, curves
from reproduction.experiment import Results
from reproduction.papers import framework_grid as grid
from reproduction.papers.framework_agreement import agreement
from reproduction.papers.framework_words import AGREEMENT, BOUNDED, EXTRA, INTRODUCTION, OURS, RIVALS
from reproduction.published import Published
from reproduction.render import Page, number, shown, table

PRINTED_RG, PRINTED_LD = "RG, printed points", "LD, printed points"
_HUES = {
    PRINTED_RG: COLOURS[0],
    PRINTED_LD: COLOURS[1],
    grid.RG: COLOURS[0],
    grid.LD: COLOURS[1],
    grid.OUR_RG: COLOURS[2],
    grid.AUTO: COLOURS[3],
}
_TITLES = {"score_ratio": "score ratio", "returned": "items returned"}
_FIGURES = {"score_ratio": "score_quality", "returned": "output_size"}


def page(results: Results, published: Published) -> Page:
    """Figures 4 and 5 for each data set, then the rivals, Δ = 8, and figure 7."""
    pictures: dict[str, Picture] = {}
    parts = [INTRODUCTION, AGREEMENT, agreement(results, published)]
    for data in grid.DATA:
        parts.append(f"### {data.name}\n")
        for metric in _TITLES:
            name = f"framework_{data.paper.split()[0].lower()}_{metric}"
            pictures[name] = _figure(results, published, data, metric)
            parts.append(shown(name, f"{_TITLES[metric]} against ε on {data.name}"))
    parts += [OURS, _best(results)]
    for name, words, picture in (
        ("framework_rivals", RIVALS, _panels(results, _rivals(), "[FW] the rivals of RG, k_bar = 10k")),
        ("framework_bounded", BOUNDED, _panels(results, _bounded(), "[FW] users of at most 8 items, k_bar = 10k")),
        ("framework_extra", EXTRA, _extra(results)),
    ):
        pictures[name] = picture
        parts += [words, shown(name, "score ratio against ε")]
    return Page("\n".join(parts), pictures)


def _figure(results: Results, published: Published, data: grid.Set, metric: str) -> Picture:
    """One data set: k down, k_bar across."""
    points = [
        point for k in grid.KS for many in grid.MULTIPLES for point in _panel(results, published, data, metric, k, many)
    ]
    note = "" if data.own else "; the printed points are of the real data, the curves of a synthetic stand-in"
    return curves(
        points,
        x=Axis("total ε"),
        y=Axis(_TITLES[metric]),
        title=f"[FW] {_TITLES[metric]} on {data.name}",
        subtitle=f"δ = 1/(2n), n = {data.users:,}{note}",
        dots=(PRINTED_RG, PRINTED_LD),
        colours=_HUES,
        shared_y=metric == "score_ratio",
    )


def _panel(results: Results, published: Published, data: grid.Set, metric: str, k: int, many: int) -> Iterator[Point]:
    panel = f"k = {k}, k_bar = {'' if many == 1 else many}k"
    for name, label in (("RG", PRINTED_RG), ("LD", PRINTED_LD)):
        for epsilon in grid.EPSILONS:
            mean = published.framework.get((data.figure, _FIGURES[metric], k, many * k, name, epsilon))
            if mean is not None:
                yield Point(float(epsilon), mean, label, panel)
    for label in (grid.RG, grid.LD, grid.OUR_RG, grid.AUTO):
        auto = label == grid.AUTO
        for epsilon in grid.EPSILONS:
            one = grid.place(data, label, k, k if auto else many * k, epsilon)
            if numbers := results.of(grid.AUTOS if auto else grid.CURVES, one):
                yield Point(float(epsilon), numbers[metric].value, label, panel)


Line = tuple[str, str, int]  # an experiment, a label, and k_bar over k


def _rivals() -> tuple[Line, ...]:
    return (
        (grid.CURVES, grid.RG, 10),
        (grid.CURVES, grid.LD, 10),
        (grid.RIVALS, grid.TS, 1),
        (grid.AUTOS, grid.AUTO, 1),
    )


def _bounded() -> tuple[Line, ...]:
    return ((grid.BOUNDS, grid.LL, 10), (grid.BOUNDS, grid.RN, 10), (grid.BOUNDS, grid.BOUNDED, 10))


def _panels(results: Results, lines: tuple[Line, ...], title: str) -> Picture:
    """Data down, k across: the score ratio of some lines."""
    points = [
        Point(float(epsilon), numbers["score_ratio"].value, label, f"{data.name}, k = {k}")
        for data in grid.DATA
        for k in grid.KS
        for experiment, label, many in lines
        for epsilon in grid.EPSILONS
        if (numbers := results.of(experiment, grid.place(data, label, k, many * k, epsilon)))
    ]
    return curves(points, x=Axis("total ε"), y=Axis("score ratio", domain=(0, 1.02)), title=title)


def _extra(results: Results) -> Picture:
    points: list[Point] = []
    for one in grid.extras():
        data = next(data for data in grid.DATA if data.file == one.data)
        extra = int(dict(one.more)["extra"])
        line = f"EM, 10^{len(str(extra)) - 1} more items" if extra else grid.EM
        if numbers := results.of(grid.EXTRAS, one):
            points.append(Point(float(one.epsilon), numbers["score_ratio"].value, line, f"{data.name}, k = {one.k}"))
    for experiment, label in ((grid.RIVALS, grid.LISTED), (grid.AUTOS, grid.AUTO)):
        points += [
            Point(float(epsilon), numbers["score_ratio"].value, label, f"{data.name}, k = {k}")
            for data in grid.DATA
            for k in grid.KS
            for epsilon in grid.EXTRA_EPSILONS
            if (numbers := results.of(experiment, grid.place(data, label, k, k, epsilon)))
        ]
    title = "[FW] figure 7: a public list of all items, with more and more of count 1"
    return curves(points, x=Axis("total ε"), y=Axis("score ratio", domain=(0, 1.02)), title=title)


def _best(results: Results) -> str:
    """The best published line over its three k_bar, and `auto`."""
    rows = []
    for data in grid.DATA:
        for k in grid.KS:
            for epsilon in ("0.05", "0.1", "0.2", "0.4", "1"):
                row = [data.name, str(k), epsilon]
                for label in (grid.LD, grid.RG, grid.OUR_RG):
                    cells = [grid.place(data, label, k, many * k, epsilon) for many in grid.MULTIPLES]
                    found = [numbers["returned"] for one in cells if (numbers := results.of(grid.CURVES, one))]
                    row.append(number(max(found, key=lambda one: one.value), 2) if found else number(None))
                own = results.of(grid.AUTOS, grid.place(data, grid.AUTO, k, k, epsilon))
                rows.append([*row, number(own.get("returned"), 2)])
    best = [f"{label} (best k_bar)" for label in (grid.LD, grid.RG, grid.OUR_RG)]
    return table(["items returned", "k", "ε", *best, grid.AUTO], rows)
