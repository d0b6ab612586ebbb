"""The page of [TS]: what was printed, what comes out here, and what is better."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from reproduction.curves import Axis, Point, curves
from reproduction.experiment import Results
from reproduction.papers import top_stable_grid as grid
from reproduction.papers.top_stable_words import CURVES, INTRODUCTION, LARGE, OWN, STAND_INS
from reproduction.published import Published
from reproduction.render import MISSING, Page, number, shown, table

_COLUMNS = (
    ("TS", grid.TS_CODE, grid.TS_PRIVATE, grid.OUR_TS),
    ("LD", grid.LD_CODE, grid.LD_PRIVATE, grid.OUR_LD),
)


def page(results: Results, published: Published) -> Page:
    """Tables for each data set, figure 1, and very large k."""
    parts = [INTRODUCTION, OWN, *_tables(results, published, grid.FOURSQUARE), STAND_INS]
    for data in grid.DATA[1:]:
        parts += _tables(results, published, data)
    picture = curves(
        list(_points(results)),
        x=Axis("k"),
        y=Axis("score ratio S", domain=(0, 1.02)),
        title="[TS] figure 1: score ratio against k",
        subtitle="δ = 1/n, 2,000 trials; Gowalla and BrightKite are synthetic stand-ins",
        dashed=(grid.TS_CODE, grid.LD_CODE),
    )
    parts += [CURVES, shown("top_stable", "score ratio against k for TS, LimitedDomain and auto"), _table_4(results)]
    parts += [LARGE, _large(results)]
    return Page("\n".join(parts), {"top_stable": picture})


def _tables(results: Results, published: Published, data: grid.Set) -> Iterator[str]:
    """S and P of every setting."""
    yield f"### {data.file}: {data.note}\n"
    for place, metric, words in ((1, "score_ratio", "S, the score ratio"), (0, "proportion", "P")):
        head = ["ε", "k"]
        for family, *labels in _COLUMNS:
            head += [f"{family} printed", *labels]
        yield f"{words}:\n"
        yield table([*head, grid.AUTO], _rows(results, published, data, place, metric))


def _rows(results: Results, published: Published, data: grid.Set, place: int, metric: str) -> Iterator[list[str]]:
    for epsilon in grid.EPSILONS:
        for k in grid.TABLE_KS:
            row = [epsilon, str(k)]
            for family, *labels in _COLUMNS:
                printed = published.stable.get((data.paper, epsilon, k, family))
                row.append(MISSING if printed is None else number(printed[place]))
                row += [_value(results, data, label, k, epsilon, metric) for label in labels]
            yield [*row, _value(results, data, grid.AUTO, k, epsilon, metric)]


def _value(results: Results, data: grid.Set, label: str, k: int, epsilon: str, metric: str) -> str:
    numbers = results.of(grid.TABLES, grid.place(data, label, k, epsilon))
    name = "printed_p" if metric == "proportion" and label in (grid.TS_CODE, grid.LD_CODE) else metric
    return number(numbers.get(name))


def _points(results: Results) -> Iterator[Point]:
    names = {data.file: data.paper if data.own else f"{data.paper} (stand-in)" for data in grid.DATA}
    for one in grid.curves():
        if numbers := results.of(grid.CURVES, one):
            panel = f"{names[one.data]}, ε = {float(one.epsilon):g}"
            yield Point(one.k, numbers["score_ratio"].value, one.label, panel)


def _table_4(results: Results) -> str:
    """The averages of table 4, over the same k, on the stand-in for Gowalla."""
    gowalla, rows = grid.DATA[1], []
    for words, low, high in (("k ≤ 60", 1, 60), ("60 < k ≤ 100", 61, 100)):
        row = [words]
        for label in (grid.TS_CODE, grid.LD_CODE):
            cells = [grid.place(gowalla, label, k, "0.8") for k in range(low, high + 1)]
            found = [numbers for one in cells if (numbers := results.of(grid.CURVES, one))]
            means = [fmean(numbers[name].value for numbers in found) for name in ("printed_p", "score_ratio") if found]
            row.append(" / ".join(f"{mean:.2f}" for mean in means) or MISSING)
        rows.append(row)
    return table(["P / S on the stand-in, ε = 0.8", grid.TS_CODE, grid.LD_CODE], rows)


def _large(results: Results) -> str:
    labels = (grid.TS_CODE, grid.LD_CODE, grid.TS_PRIVATE, grid.AUTO)
    rows = []
    for k in grid.LARGE_KS:
        cells = [grid.place(grid.FOURSQUARE, label, k, "1.0", trials=500) for label in labels]
        rows.append([str(k), *(number(results.of(grid.LARGE, one).get("score_ratio")) for one in cells)])
    return table(["k (S, ε = 1)", *labels], rows)
