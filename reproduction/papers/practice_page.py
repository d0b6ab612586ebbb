"""The page on real users and items: one picture, who is best where, and whether `auto` chose well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from crestline.pictures import Picture
from crestline.prepare import automatic
from crestline.question import Question
from reproduction.curves import Axis, Point, curves
from reproduction.experiment import Cell, Estimate, Experiment, Results
from reproduction.papers.practice_words import CHOICE_WORDS, TABLE_WORDS, WORDS
from reproduction.published import Published
from reproduction.render import MISSING, Page, number, shown, table

DATA = ("MOVIELENS_1M", "RETAIL_BASKETS", "LASTFM_HETREC", "YELP_REVIEWS_5CORE", "BMS_WEBVIEW1")
KS = (10, 50, 100)
EPSILONS = (Fraction(1), Fraction(1, 10))
DELTA = Fraction(1, 10**6)
BOUNDS = (1, 5, 20, 50)
AUTO_FREE, AUTO_BOUND = "crestline auto, no bound", "crestline auto, bound"
OPENDP: Mapping[str, str] = {"OpenDP, Laplace": "laplace", "OpenDP, Gauss": "gaussian"}
PIPELINEDP = "PipelineDP"
PEERS = (*OPENDP, PIPELINEDP)
SINGLE = ("CanonicalBottom", "RestrictedGumbel", "LimitedDomain", "LimitedDomainGauss", "TopStable")
_COLOURS = {
    AUTO_FREE: "#000000",
    AUTO_BOUND: "#0072b2",
    "OpenDP, Laplace": "#e69f00",
    "OpenDP, Gauss": "#d55e00",
    PIPELINEDP: "#009e73",
}


def hits(k: int) -> str:
    """The metric: which share of the true top k was returned."""
    return f"true@{k}"


def page(practice: Experiment, choice: Experiment, results: Results, published: Published) -> Page:
    """The page; holes where nothing was run."""
    pictures = {f"practice-{float(epsilon):g}": _picture(practice, results, epsilon) for epsilon in EPSILONS}
    parts = [WORDS]
    parts += [shown(name, "share of the true top k against the contribution bound") for name in pictures]
    parts += [TABLE_WORDS, _best_table(practice, results), CHOICE_WORDS, _choice_table(choice, results)]
    return Page("\n".join(parts), {name: found for name, found in pictures.items() if found is not None})


def _points(practice: Experiment, results: Results, epsilon: Fraction) -> Iterator[Point]:
    for data in DATA:
        for k in KS:
            panel = f"{data}, k = {k}"
            for label in _COLOURS:
                for one in _of(practice, data, epsilon, label):
                    found = results.of(practice, one).get(hits(k))
                    if found is not None:
                        bounds = [int(dict(one.more)["bound"])] if one.more else list(BOUNDS)
                        yield from (Point(bound, found.value, label, panel) for bound in bounds)


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
        subtitle="thresholding needs the right bound, and nobody knows it beforehand; the dashed line needs none",
        dashed=(AUTO_FREE,),
        colours=_COLOURS,
    )


def _best_table(practice: Experiment, results: Results) -> str:
    """Without a bound one number; else the best over all bounds and the bound that gave it, known only afterwards."""
    rows = []
    for data in DATA:
        for epsilon in EPSILONS:
            for k in KS:
                row = [data, f"{float(epsilon):g}", str(k)]
                rows.append([*row, *(_best(practice, results, data, epsilon, label, k) for label in _COLOURS)])
    return table(["data", "ε", "k", *_COLOURS], rows)


def _best(practice: Experiment, results: Results, data: str, epsilon: Fraction, label: str, k: int) -> str:
    found: list[tuple[Estimate, str]] = [
        (value, f" ({dict(one.more)['bound']})" if one.more else "")
        for one in _of(practice, data, epsilon, label)
        if (value := results.of(practice, one).get(hits(k)))
    ]
    if not found:
        return MISSING
    best, bound = max(found, key=lambda pair: pair[0].value)
    return number(best.value, 2) + bound


def _choice_table(choice: Experiment, results: Results) -> str:
    rows = []
    for data in DATA:
        for epsilon in EPSILONS:
            for k in KS:
                shares = {
                    one.label: found
                    for one in choice.cells
                    if (one.data, one.epsilon, one.k) == (data, epsilon, k)
                    if (found := results.of(choice, one).get(hits(k)))
                }
                picked = automatic(Question(k=k)).name
                row = [_marked(shares.get(name), name == picked) for name in SINGLE]
                rows.append([data, f"{float(epsilon):g}", str(k), *row])
    return table(["data", "ε", "k", *SINGLE], rows)


def _marked(share: Estimate | None, picked: bool) -> str:
    """What `auto` picks is bold."""
    text = MISSING if share is None else number(share.value, 2)
    return f"**{text}**" if picked else text
