"""The numbers of the report: each from a file of the repository, or computed on the spot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from crestline import mechanisms
from crestline.guarantees import composition
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from reproduction.audits.subjects import TWIN
from reproduction.errata.__main__ import numbers
from reproduction.errata.finding import SCRIPTS, Kind, Shown, text
from reproduction.render import table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
_TOTAL: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def figures() -> dict[str, Callable[[], str]]:
    """What stands for each name in the template."""
    return {
        "errata.all": lambda: str(len(_errata_rows())),
        "errata.scripts": lambda: str(len({number.split()[0] for number in _shown()})),
        "errata.broken": lambda: str(
            len({name.split()[0] for name, one in _shown().items() if one.kind is Kind.BREAKS})
        ),
        "table.errata": errata,
        "table.accountants": accountants,
        "numpy.ratio": lambda: f"{_median('LimitedDomain', 100, 5000) / _median('plain NumPy Gumbel', 100, 5000):.1f}",
        "table.speed": speed,
        "full.ours": lambda: _time(_full("crestline, multiplicities")),
        "full.opendp": lambda: _time(_full("OpenDP `make_noisy_top_k`")),
        "full.numpy": lambda: _time(_full("NumPy")),
        "full.machine": lambda: str(_performance("full_domain")["machine"]).split(";")[0] + ".",
        "gap.laplace": lambda: f"{LaplaceTest(1, '1e-6').margin_for_all(50, 0.95) - 1:.1f}",
        "gap.exponential": lambda: f"{_best_one_sided():.1f}",
        "table.leads": leads,
        "stop.5": lambda: _quiet(5),
        "stop.20": lambda: _quiet(20),
        "stop.50": lambda: _quiet(50),
        "table.observed": observed,
        "table.contests": lambda: section("README.md", "Ours against every published mechanism"),
        "table.practice": lambda: section("practice.md", "The share of the true top k"),
        "table.sources": sources,
        "audits.all": lambda: str(len({one["target"] for one in _audits()})),
        "audits.broken": lambda: str(len({one["target"] for one in _audits() if one["broken"]})),
    }


@cache
def _shown() -> dict[str, Shown]:
    return {number: SCRIPTS[number]() for number in numbers() if number.startswith("E-")}


def _errata_rows() -> list[str]:
    return re.findall(r'<a id="e-[a-d]\d+">', (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"))


def errata() -> str:
    """Every erratum that changes a number: as printed, as it should be, corrected."""
    rows = []
    for number, shown in _shown().items():
        corrected = "" if shown.corrected is None else text(shown.corrected)
        mark = "**" if shown.kind is Kind.BREAKS else ""
        rows.append([f"{number}: {shown.what}", f"{mark}{text(shown.printed)}{mark}", text(shown.right), corrected])
    return table(["erratum", "as printed", "should", "corrected"], rows)


def accountants() -> str:
    """k draws of one ε under every theorem of P10.3."""
    theorems: dict[str, composition.Theorem] = {
        "B1": lambda k, epsilon, _: composition.basic_composition(k, epsilon),
        "B2": composition.bounded_range,
        "B3": composition.dong_durfee_rogers,
        "B4": composition.zero_concentrated,
        "B5": composition.renyi_bounded_range,
        "B6": composition.adaptive_optimum,
    }
    rows = [
        [f"{k:,}", size, *(f"{float(theorem(k, size, '1e-6')):.4f}" for theorem in theorems.values())]
        for k in (1, 10, 100, 1000)
        for size in ("0.01", "0.1", "1")
    ]
    return table(["k", "ε of a draw", *theorems], rows)


@cache
def _performance(name: str) -> Any:
    return json.loads((RESULTS / "performance" / f"{name}.json").read_text(encoding="utf-8"))


def _median(who: str, k: int, k_bar: int) -> float:
    (found,) = [
        row["median"]
        for row in _performance("restricted")["rows"]
        if row["who"] == who and row["setting"] == {"k": k, "k_bar": k_bar}
    ]
    return float(found)


def speed() -> str:
    """One release of some mechanisms and of their peers."""
    who = ["plain NumPy Gumbel", "LimitedDomain", "RestrictedGumbel", "CanonicalBottom"]
    who += ["OpenDP `make_noisy_top_k`", "diffprivlib `Exponential`, peeled"]
    settings = ((10, 100), (100, 1000), (1000, 10_000))
    rows = [[one, *(_time(_median(one, *setting)) for setting in settings)] for one in who]
    return table(["", *(f"k = {k:,}, k_bar = {k_bar:,}" for k, k_bar in settings)], rows)


def _full(who: str) -> float:
    rows = [row for row in _performance("full_domain")["rows"] if row["setting"] == {"d": 1_000_000}]
    found = [row["median"] for row in rows if row["who"].startswith(who) and row["median"] is not None]
    assert found, f"nothing was measured of {who}"
    return float(found[0])


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"


def _best_one_sided() -> float:
    """The least gap over the shares of the threshold."""
    shares = [share / 100 for share in range(30, 90)]
    tests = [ExponentialTest(str(share), str(round(1 - share, 2)), "1e-6") for share in shares]
    return min(test.margin_for_all(50, 0.95) - 1 for test in tests)


def leads() -> str:
    """How far ahead an item must be."""
    names = ("LimitedDomain", "FixedThreshold", "TopStable", "RestrictedGumbel", "CanonicalBottom", "Staircase")
    rows = []
    for k in (1, 3, 10, 30):
        made = [getattr(mechanisms, name).for_budget(k=k, k_bar=10 * k, **_TOTAL) for name in names]
        rows.append([str(k), *(f"{one.margin(0.95):.0f}" for one in made)])
    return table(["k", *(f"`{name}`" for name in names)], rows)


def _quiet(contribution: int) -> str:
    n = contribution - 1
    return f"{(1 + math.sqrt(n)) / math.sqrt(2 * (n + 1)):.2f}"


def observed() -> str:
    """Noise and threshold of `Observed`, and those that OpenDP's own map asks for."""
    from reproduction.peers.thresholds import gaussian_setting

    rows = []
    for bound in (1, 5, 20, 50):
        made = mechanisms.Observed.for_budget(k=10, contribution=bound, noise="gaussian", **_TOTAL)
        scale, threshold = gaussian_setting(bound, 1.0, 1e-6)
        ours = f"{float(made.scale):.2f}", f"{float(made.threshold):.1f}"
        rows.append([str(bound), *ours, f"{scale:.2f}", str(threshold)])
    return table(["Δ", "σ", "threshold", "σ, OpenDP", "threshold, OpenDP"], rows)


def section(page: str, heading: str) -> str:
    """The first table below a heading of a page of results."""
    written = (RESULTS / page).read_text(encoding="utf-8")
    below = written.split(f"## {heading}\n", 1)[1]
    found = re.search(r"(?:^\|.*\|\n)+", below, re.MULTILINE)
    assert found is not None, f"no table below {heading}"
    return found[0]


def sources() -> str:
    """From rows to an answer, beside the plain SQL."""
    rows = []
    for row in _performance("sources")["rows"]:
        if row["median"] is not None:
            setting = ", ".join(
                f"{value:,}" if isinstance(value, int) else str(value) for value in row["setting"].values()
            )
            rows.append([f"{row['who']}, {setting}", _time(row["median"])])
    return table(["what, engine, rows", "time"], rows)


@cache
def _audits() -> list[dict[str, Any]]:
    """What was found, without the twin that only shows the power of the attack."""
    kept = json.loads((RESULTS / "audits.json").read_text(encoding="utf-8"))
    return [one for one in kept.values() if one["target"] != TWIN]
