"""[DR] figure 1: how much k steps of an exponential mechanism cost together, over what pure steps would cost.

Published: the bound for bounded-range steps (Lemma 4.4) divided by the optimal bound for pure steps. Ours: the same
with the accountants that came after it. Everything is computed, nothing is simulated.
"""

from __future__ import annotations

from fractions import Fraction

from crestline.guarantees.composition import BOUNDS
from reproduction.curves import Axis, Point, curves
from reproduction.data import Shelf
from reproduction.experiment import Cell, Estimate, Experiment, Numbers, Paper, Results, cell
from reproduction.published import Published
from reproduction.render import Page, number, shown, table

EPSILONS = ("0.001", "0.01", "0.1", "0.5", "1")
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DELTA = Fraction(1, 10**6)
PURE, PUBLISHED, OURS = "optimal DP", "bounded range", "optimum"
LABELS = (PUBLISHED, "Dong et al.", "zCDP", "Rényi", OURS)


def measure(cell: Cell, shelf: Shelf) -> Numbers:
    """The total ε of k steps by one theorem, and its ratio to what pure steps need."""
    theorems = {bound.name: bound.epsilon for bound in BOUNDS}
    steps = cell.k, cell.epsilon, cell.delta
    total, pure = (min(cell.k * cell.epsilon, theorems[name](*steps)) for name in (cell.label, PURE))
    return {"epsilon": Estimate(float(total)), "ratio": Estimate(float(total / pure))}


RATIOS = Experiment(
    "composition",
    "[DR] figure 1: composition of bounded-range steps over that of pure steps",
    tuple(
        cell("", label, k=k, epsilon=epsilon, delta=DELTA) for epsilon in EPSILONS for k in STEPS for label in LABELS
    ),
    measure,
    quick=lambda cell: cell.k in (2, 10) and cell.epsilon >= Fraction(1, 10),
)


def page(results: Results, published: Published) -> Page:
    """The ratios as curves, and the totals as a table."""
    points = [
        Point(one.k, found["ratio"].value, one.label, f"ε = {float(one.epsilon):g} for each step")
        for one in RATIOS.cells
        if (found := results.of(RATIOS, one))
    ]
    picture = curves(
        points,
        x=Axis("steps k", log=True),
        y=Axis("total ε, over that of pure steps"),
        title="Composition of bounded-range steps",
        subtitle="δ = 1e-6; below 1: cheaper than the best bound for pure steps",
        dashed=(PUBLISHED,),
    )
    text = "\n".join([_WORDS, shown("composition", "ratios of composition bounds against k"), _totals(results)])
    return Page(text, {"composition": picture} if points else {})


def _totals(results: Results) -> str:
    rows = []
    for epsilon in EPSILONS:
        for k in (10, 100, 1000):
            line = [cell("", label, k=k, epsilon=epsilon, delta=DELTA) for label in LABELS]
            found = [results.of(RATIOS, one).get("epsilon") for one in line]
            rows.append([epsilon, str(k), *(number(value, 4) for value in found)])
    return table(["ε of a step", "k", *LABELS], rows)


_WORDS = """# [DR] figure 1: what k steps cost together

**Published.** Durfee & Rogers compare the composition of bounded-range steps (their Lemma 4.4: `bounded range` below)
with the optimal composition of pure steps. The figure is a drawing without printed numbers, so there is nothing to
compare digit by digit; the formulas are theirs. Every bound is cut at kε, which always holds.

**Ours.** The same steps under the accountants crestline uses: zCDP with the best conversion, Rényi with exact curves,
and the exact adaptive optimum, each certified by ball arithmetic and rounded up. Lemma 4.4 is valid and loose (erratum
E-A14): its mean term is ε²/2 where ε²/8 is true.
"""

PAPER = Paper("composition", "[DR] figure 1", (RATIOS,), page)
